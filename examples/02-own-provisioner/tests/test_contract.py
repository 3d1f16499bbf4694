"""Lanes keep the contract of every provisioner, and there are as many as the class says."""

from lanes import Lanes

from elasticgpu.provisioner import Slice
from elasticgpu.testing import ProvisionerContract
from elasticgpu.testing.contract.setting import World


class TestLanes(ProvisionerContract):
    """Two lanes a card, for shares of one card and of two."""

    plugin = Lanes
    parameters = {"lanes": "2"}
    bad_parameters = (({"lanes": "0"}, "lanes"), ({"lanes": "many"}, "lanes"))

    def test_no_more_lanes_than_the_class_says(self) -> None:
        """A card with room, but without a lane, serves nobody."""
        world: World = self.world()
        (want, *_) = self.served()
        for _ in range(2 * len(world.cards)):
            world.device(want)
        assert min(card.core_free for card in world.view().cards) >= want.core
        assert not isinstance(world.try_place(want), Slice)
