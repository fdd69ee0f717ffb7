"""Lets pytest explain the asserts of shared checks as it explains those of tests."""

import pytest

pytest.register_assert_rewrite("contracts.vector_env_contract", "twins")
