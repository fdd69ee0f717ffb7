import os

import psutil
import pytest
from page_server import PageServer

from keisei.web.server import NICENESS


@pytest.mark.skipif(not hasattr(os, "nice"), reason="needs a system with priorities of POSIX")
def test_the_page_leaves_the_processors_to_the_run(server: PageServer) -> None:
    own = os.nice(0)
    assert psutil.Process(server.process.pid).nice() == min(own + NICENESS, 19)
