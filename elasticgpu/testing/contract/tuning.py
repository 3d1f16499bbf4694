"""The rules of class parameters: what is wrong is refused by the name of its field."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from elasticgpu.errors import Refused
from elasticgpu.provisioner import ENTRY_POINTS, Parameters, Provisioner

from .setting import Setting

STRAY = "thisIsNoParameter"
NONSENSE = ("", "nonsense", "-1", "-0.5", "1e400", "٣", "x" * 512)
"""What people write by mistake; a plugin may take it or refuse it, by name."""


class Tuning(Setting):
    """Tests of `parameters`, which an admin writes into the class."""

    def test_has_a_name(self) -> None:
        """Classes name the plugin; its name may stand in a manifest."""
        name = getattr(self.plugin, "name", "")
        assert name, "A plugin has a name, which classes write as `provisioner:`"
        assert len(name) <= 63, f"A name has at most 63 characters: {name}"
        value = f"{self.plugin.__module__}:{self.plugin.__qualname__}"
        for point in entry_points(group=ENTRY_POINTS):
            assert point.value != value or point.name == name, (
                f"A plugin is published under its name: {point.name} is not {name}"
            )
        assert self.plugin.concurrency >= 1, "concurrency is at least 1"
        assert self.plugin.timeout > 0, "timeout is more than 0 seconds"

    def test_parameters_are_declared(self) -> None:
        """They are a frozen model of the plugin's, and the class's own are taken."""
        found = self._tuned(self.parameters)
        assert not isinstance(found, Refused), f"The class's own parameters are taken: {found}"
        assert isinstance(found.parameters, Parameters), (
            "`parameters` is a model that extends elasticgpu.provisioner.Parameters"
        )

    def test_unknown_parameters_are_refused(self) -> None:
        """A misspelt name is said to the admin; to pass over it would be to lie."""
        found = self._tuned({**self.parameters, STRAY: "1"})
        assert isinstance(found, Refused), (
            f"Parameters that nobody knows are refused: {STRAY} was taken"
        )
        assert STRAY in found.reason, (
            f"A refused parameter is named: the reason is {found.reason!r}, without {STRAY}"
        )

    def test_bad_parameters_are_refused_by_name(self) -> None:
        """Whatever is written, it is taken or refused, and refused by the name of its field."""
        for field, model in type(self.plugin.parameters).model_fields.items():
            alias = model.alias or field
            for value in NONSENSE:
                found = self._tuned({**self.parameters, alias: value})
                if isinstance(found, Refused):
                    assert alias in found.reason, (
                        f"A refused parameter is named: the reason is {found.reason!r}, "
                        f"without {alias}"
                    )
        for written, field in self.bad_parameters:
            found = self._tuned(written)
            assert isinstance(found, Refused), f"Bad parameters are refused: {written} were taken"
            assert field in found.reason, (
                f"A refused parameter is named: the reason is {found.reason!r}, without {field}"
            )

    def _tuned(self, written: Mapping[str, str]) -> Provisioner | Refused:
        try:
            return self.make(self.node()).tuned(written)
        except Refused as error:
            return error
