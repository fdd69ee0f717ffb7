"""The model factory: names, import paths, refusals, and descriptions that tell architectures apart."""

import json
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
import torch
from network_samples import ARCHITECTURES, board_like_planes, model_config, network
from torch import Tensor, nn

from keisei.config_schema import ModelConfig
from keisei.core import model_factory as factory_module
from keisei.core.model_factory import (
    architecture_description,
    architecture_differences,
    model_factory,
    register_architecture,
)
from keisei.core.networks import ActorCritic, NetworkOutput, TowerActorCritic
from keisei.errors import ConfigError

ACTIONS = 2187


class Flat(ActorCritic):
    """A linear network of a third party, with an optional vice."""

    def __init__(self, num_actions: int, vice: nn.Module | None = None) -> None:
        super().__init__(num_actions)
        self.vice = vice or nn.Identity()
        self.layer = nn.Linear(46 * 81, num_actions + 3)

    def forward(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        answer = self.layer(self.vice(planes).flatten(1))
        return NetworkOutput(answer[:, :-3], answer[:, -3:], {})


class Chatty(Flat):
    def forward(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        return tuple(super().forward(planes, with_auxiliary))  # type: ignore[return-value]


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("third_party_plugin")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(factory_module, "_builders", dict(factory_module._builders))
    yield


def build(architecture: str, actions: int = ACTIONS) -> ActorCritic:
    """Past the schema, which refuses some of the names below by their form."""
    settings = {**model_config().model_dump(), "architecture": architecture}
    return model_factory(ModelConfig.model_construct(**settings), actions)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_built_in_name_builds(architecture: str) -> None:
    assert isinstance(build(architecture), TowerActorCritic)


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"unknown model.architecture 'resnett'; did you mean 'resnet'\?"):
        build("resnett")


def test_a_strange_name_gets_the_list() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown model.architecture 'xyz'; use one of \['cnn', .*callable"
    ):
        build("xyz")


@pytest.mark.parametrize("actions", [0, 2186, 13528])
def test_an_unknown_number_of_actions_is_refused(actions: int) -> None:
    with pytest.raises(
        ConfigError, match=rf"expected one of \[2187, 13527\] actions, got {actions}; set env"
    ):
        build("cnn", actions)


def test_an_import_path_builds_a_third_partys_network(plugin: ModuleType) -> None:
    plugin.build = lambda model, num_actions: Flat(num_actions)  # type: ignore[attr-defined]
    model = build("third_party_plugin:build")
    assert isinstance(model, Flat)
    assert model(board_like_planes(2)).policy_logits.shape == (2, ACTIONS)


def test_a_registered_name_builds_its_network(registry: None) -> None:
    register_architecture("flat", lambda model, num_actions: Flat(num_actions))
    assert isinstance(build("flat"), Flat)
    with pytest.raises(ConfigError, match="'flat' is already registered"):
        register_architecture("flat", lambda model, num_actions: Flat(num_actions))


@pytest.mark.parametrize("name", ["", "a:b"])
def test_a_name_that_looks_like_an_import_path_is_refused(registry: None, name: str) -> None:
    with pytest.raises(ConfigError, match=f"without ':', got {name!r}"):
        register_architecture(name, lambda model, num_actions: Flat(num_actions))


@pytest.mark.parametrize("path", ["no_such_package.module:build", ":build", "no-such:build"])
def test_a_module_that_cannot_be_imported_is_named(path: str) -> None:
    with pytest.raises(ConfigError, match=rf"model.architecture '{path}': cannot import"):
        build(path)


def test_a_missing_callable_gets_a_suggestion(plugin: ModuleType) -> None:
    plugin.build_flat = Flat  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"has no 'build_flatt'; did you mean 'build_flat'\?"):
        build("third_party_plugin:build_flatt")


def test_something_that_cannot_be_called_is_refused(plugin: ModuleType) -> None:
    plugin.build = 3  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"expected a callable.*got 3"):
        build("third_party_plugin:build")


@pytest.mark.parametrize(
    ("built", "message"),
    [
        (lambda: nn.Linear(1, 1), "expected an ActorCritic, got Linear"),
        (lambda: Chatty(ACTIONS), "expected a NetworkOutput, got tuple"),
        (
            lambda: Flat(ACTIONS + 1),
            rf"expected policy_logits of shape \(4, {ACTIONS}\), got \(4, {ACTIONS + 1}\)",
        ),
        (lambda: Flat(ACTIONS, nn.BatchNorm2d(46)), r"differ between train\(\) and eval\(\)"),
        (lambda: Flat(ACTIONS, nn.Dropout(0.5)), r"differ between train\(\) and eval\(\)"),
    ],
    ids=["no network", "no output", "wrong shape", "g4 batch norm", "g4 dropout"],
)
def test_g4_a_third_partys_unfit_network_is_refused(plugin: ModuleType, built: object, message: str) -> None:
    plugin.build = lambda model, num_actions: built()  # type: ignore[attr-defined, operator]
    with pytest.raises(ConfigError, match=message):
        build("third_party_plugin:build")


def test_the_trial_leaves_the_random_state_alone(plugin: ModuleType) -> None:
    class Noisy(Flat):
        def forward(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput:
            torch.rand(1)
            return super().forward(planes, with_auxiliary)

    model = Noisy(ACTIONS)
    plugin.build = lambda _model, num_actions: model  # type: ignore[attr-defined]
    before = torch.get_rng_state()
    assert build("third_party_plugin:build").training
    assert torch.equal(torch.get_rng_state(), before)


def test_g5_a_description_is_json_and_stable() -> None:
    description = architecture_description(model_config(), ACTIONS)
    assert json.loads(json.dumps(description)) == description
    assert architecture_differences(description, architecture_description(model_config(), ACTIONS)) == []


@pytest.mark.parametrize(
    "change",
    [{"architecture": "cnn"}, {"blocks": 3}, {"channels": 24}, {"se_ratio": 0}, {"auxiliary_heads": False}],
    ids=str,
)
def test_g5_another_architecture_is_told_apart(change: dict[str, int | bool | str]) -> None:
    saved = architecture_description(model_config(), ACTIONS)
    wanted = architecture_description(model_config().model_copy(update=change), ACTIONS)
    [difference] = architecture_differences(saved, wanted)
    [(key, value)] = change.items()
    assert difference == f"{key} is {saved[key]!r} but {value!r} is wanted"


def test_g5_the_number_of_actions_and_the_revision_count() -> None:
    saved = {**architecture_description(model_config(), 13527), "revision": 0}
    differences = architecture_differences(saved, architecture_description(model_config(), ACTIONS))
    assert [difference.split()[0] for difference in differences] == ["num_actions", "revision"]


def test_g5_every_setting_of_the_model_is_described() -> None:
    assert set(ModelConfig.model_fields) <= set(architecture_description(model_config(), ACTIONS))


def test_g5_weights_of_another_architecture_do_not_load() -> None:
    with pytest.raises(RuntimeError, match=r"size mismatch|Missing key|Unexpected key"):
        network("resnet", se_ratio=0).load_state_dict(network("resnet", se_ratio=4).state_dict())
