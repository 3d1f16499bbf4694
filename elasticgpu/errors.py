"""The whole error tree: each class is named for what the caller does next.

ElasticGPUError
├── Retry(after)          not now, nothing is under way: ask again after that many seconds
├── Working(after)        it goes on in the background: ask again until there is a final answer
├── Refused               final for this object as it stands; tell the person who wrote it
├── Reschedule            this node cannot; choose another one
├── NotOurs               somebody else's object: leave it alone, say nothing
└── ApiError              the API server said no (`status`, `reason`, `message`)
    ├── NotFound          404: it is gone
    ├── Conflict          409: somebody wrote in between; read again, decide again
    │   └── AlreadyExists 409: a create met an object of this name; look whose it is
    ├── Expired           410: the resourceVersion is too old; list again
    ├── Invalid           422: the object is refused by its schema
    ├── Forbidden         403: RBAC or admission says no
    │   └── NamespaceTerminating  403: final, nothing can be created there any more
    ├── Throttled         429: wait `retry_after`, then again
    └── Unavailable       5xx, timeout or a broken connection: **the request may have been done**
"""


class ElasticGPUError(Exception):
    """Base of every error this library raises on purpose."""


class Retry(ElasticGPUError):
    """Not now, and nothing is under way: ask again after `after` seconds, not sooner."""

    def __init__(self, reason: str, after: float = 1.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after


class Working(ElasticGPUError):
    """It goes on in the background: ask again in `after` seconds, and until it is finished."""

    def __init__(self, reason: str, after: float = 5.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after


class Refused(ElasticGPUError):
    """Final for the object as it stands. `reason` says what is wrong, where, and what to do."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Reschedule(ElasticGPUError):
    """The chosen node cannot serve this, and nothing is under way there; another one may."""


class NotOurs(ElasticGPUError):
    """The object belongs to somebody else and is left alone, quietly."""


class ApiError(ElasticGPUError):
    """An answer of the API server that is not success.

    `status` is the HTTP status (0 when no answer came), `reason` and `message` are those of the
    `Status` object, `retry_after` is seconds, or None when the server named none.
    """

    def __init__(
        self, status: int, reason: str, message: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(f"{status} {reason}: {message}" if status else f"{reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after


class NotFound(ApiError):
    """404: it is gone."""


class Conflict(ApiError):
    """409: somebody wrote in between; read again and decide again."""


class AlreadyExists(Conflict):
    """409 on a create: an object of this name is there; look whose it is."""


class Expired(ApiError):
    """410: the resourceVersion is too old; list again."""


class Invalid(ApiError):
    """400 or 422: the object is refused by its schema."""


class Forbidden(ApiError):
    """401 or 403: authentication, RBAC or an admission policy says no."""


class NamespaceTerminating(Forbidden):
    """403: the namespace is being deleted; nothing can be created in it any more."""


class Throttled(ApiError):
    """429: wait `retry_after`, then again."""


class Unavailable(ApiError):
    """5xx, timeout or a broken connection. The request **may have been done**."""
