"""The contract of every provisioner, as a class of tests: shipped ones and strangers' pass alike.

A plugin's own repository needs `elasticgpu[testing]`, pytest, and this in `tests/test_contract.py`:

    from elasticgpu.testing import ProvisionerContract
    from mine import Mine

    class TestMine(ProvisionerContract):
        plugin = Mine

What a subclass may say beside that is in `setting.Setting`: class parameters, demands that are
served and refused, cards, stand-ins for the node's programs, a stand-in for what is outside the
cluster. Every failure begins with the rule that is broken.
"""

from .interrupting import Interrupting
from .outside import Outside
from .placing import Placing
from .preparing import Preparing
from .resizing import Resizing
from .sharing import Sharing
from .tuning import Tuning

__all__ = ["ProvisionerContract"]


class ProvisionerContract(Placing, Tuning, Outside, Preparing, Resizing, Sharing, Interrupting):
    """All rules at once: say which `plugin` it is, and whatever the defaults do not suit."""
