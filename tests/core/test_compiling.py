"""torch.compile is used where it works and gives the same answers; elsewhere training goes on without it."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from agents import agent, played_buffer
from network_samples import board_like_planes, network

from keisei.core.compiling import _FusedOrPlain, compiled_or_plain
from keisei.core.networks import ActorCritic, NetworkOutput


class Shifted(ActorCritic):
    """What a miscompiled network would be: its policy is off by a little."""

    def __init__(self, network: ActorCritic, error: float) -> None:
        super().__init__(network.num_actions)
        self.network = network
        self.error = error

    def forward(self, planes: torch.Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        output = self.network(planes, with_auxiliary)
        return output._replace(policy_logits=output.policy_logits + self.error)


def use_compiler(monkeypatch: pytest.MonkeyPatch, compiler: Callable[[ActorCritic], torch.nn.Module]) -> None:
    monkeypatch.setattr(torch, "compile", compiler)


@pytest.fixture
def broken_toolchain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The real torch.compile on a machine without a C++ compiler and without the leftovers of one."""
    inductor = pytest.importorskip("torch._inductor.config")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch.compiler.reset()
    with inductor.patch({"cpp.cxx": ("no-such-compiler",)}):
        yield


def failing(error: Exception) -> Callable[[int], int]:
    def fail(_number: int) -> int:
        raise error

    return fail


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "keisei.core.compiling"]


def test_a_missing_compiler_is_a_warning_and_the_plain_network(
    broken_toolchain: None, caplog: pytest.LogCaptureFixture
) -> None:
    plain = network("cnn", blocks=1, channels=8, se_ratio=0)
    with caplog.at_level(logging.WARNING):
        assert compiled_or_plain(plain) is plain
    (warning,) = warnings_of(caplog)
    assert warning.startswith("torch.compile failed (")
    assert warning.endswith("going on without it")
    assert "\n" not in warning


def test_other_answers_are_a_warning_and_the_plain_network(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_compiler(monkeypatch, lambda plain: Shifted(plain, 0.1))
    plain = network("cnn")
    with caplog.at_level(logging.WARNING):
        assert compiled_or_plain(plain) is plain
    assert warnings_of(caplog) == ["torch.compile changes the answers by 0.1; going on without it"]


def test_answers_that_are_no_numbers_are_not_trusted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_compiler(monkeypatch, lambda plain: Shifted(plain, float("nan")))
    plain = network("cnn")
    with caplog.at_level(logging.WARNING):
        assert compiled_or_plain(plain) is plain
    assert warnings_of(caplog)


def test_rounding_is_no_reason_to_do_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_compiler(monkeypatch, lambda plain: Shifted(plain, 1e-6))
    plain = network("cnn")
    with caplog.at_level(logging.WARNING):
        assert isinstance(compiled_or_plain(plain), Shifted)
    assert not warnings_of(caplog)


def test_an_error_without_a_message_is_still_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Shifted):
        def forward(self, planes: torch.Tensor, with_auxiliary: bool = True) -> NetworkOutput:
            raise RuntimeError

    use_compiler(monkeypatch, lambda plain: Failing(plain, 0.0))
    plain = network("cnn")
    with caplog.at_level(logging.WARNING):
        assert compiled_or_plain(plain) is plain
    assert "RuntimeError: no message" in caplog.text


def test_a_function_that_cannot_be_compiled_runs_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch, "compile", lambda _function, dynamic: failing(RuntimeError("no Triton")))
    doubled = _FusedOrPlain(lambda number: 2 * number)
    with caplog.at_level(logging.WARNING):
        assert [doubled(3), doubled(4)] == [6, 8]
    assert warnings_of(caplog) == ["torch.compile failed (RuntimeError: no Triton); going on without it"]


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("CUBLAS_STATUS_ALLOC_FAILED")]
)
def test_a_lack_of_memory_is_no_fault_of_the_compiler(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: RuntimeError
) -> None:
    monkeypatch.setattr(torch, "compile", lambda _function, dynamic: failing(error))
    with pytest.raises(type(error)) as caught:
        _FusedOrPlain(lambda number: 2 * number)(3)
    assert caught.value is error
    assert not warnings_of(caplog)


def test_an_agent_whose_compiler_fails_learns_all_the_same(
    broken_toolchain: None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        player = agent(compile=True)
    assert "going on without it" in caplog.text
    assert player.learn(played_buffer(player), 0.0)["gradient_steps"] > 0


def test_a_traced_network_plays_and_learns_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real torch.compile without its slow code generator: same weights, same answers, same state_dict."""
    real_compile = torch.compile
    use_compiler(monkeypatch, lambda plain: real_compile(plain, backend="eager"))
    torch.compiler.reset()
    player = agent(compile=True)
    assert player.inference.network is not player.network
    assert player.inference.num_actions == 2187
    figures = player.learn(played_buffer(player), 0.0)
    assert figures["first_ratio_deviation"] <= 1e-6
    planes = board_like_planes(3)
    with torch.no_grad():
        compiled = player.inference.forward(planes, with_auxiliary=False)
        plain = player.network(planes, with_auxiliary=False)
    assert torch.allclose(compiled.policy_logits, plain.policy_logits, atol=1e-5)
    assert not any("_orig_mod" in name for name in player.network.state_dict())
