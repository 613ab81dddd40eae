"""Several processes that are up together inside a `with` block, and none of them after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType


class Several(ABC):
    """A context manager: inside it everything is ready; whichever way out is taken, nothing is left."""

    @abstractmethod
    def bring_up(self) -> None:
        """Start everything and return when it is ready."""

    @abstractmethod
    def kill(self) -> None:
        """End at once whatever was started; what was not is passed over."""

    def __enter__(self) -> Self:
        try:
            self.bring_up()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
