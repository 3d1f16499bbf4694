"""Where the API server is, and how to prove who we are: before the first request of any claim.

The only module that imports kubernetes_asyncio, and only its `config` package, inside the
function that needs it: that import alone costs a third of a second.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from elasticgpu.errors import Refused

log = logging.getLogger(__name__)

REFRESH = 60.0
"""Seconds between two looks at the credentials: token files rotate, exec tokens expire."""
IMPATIENCE = 5.0
"""After a 401 they are looked at again at once, but not more often than this, in seconds."""

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its own credentials and namespace."""
Found = tuple[Callable[[], Awaitable[None]], str]
"""What reads the credentials anew, and the namespace one stands in."""


@dataclass
class Access:
    """One server and the present credentials for it. Its repr shows no secret.

    `authorization` is the value of that header, or empty. `reload` reads the credentials anew
    and returns the header's value; None where nothing can change. `namespace` is the one that the
    kubeconfig's context, or the pod, stands in; empty if none is named.
    """

    server: str
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    server_name: str | None = None
    proxy: str | None = field(default=None, repr=False)
    authorization: str = field(default="", repr=False)
    namespace: str = ""
    reload: Callable[[], Awaitable[str]] | None = field(default=None, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _read_at: float = field(default=float("-inf"), repr=False)

    async def renew(self, refused: str) -> bool:
        """Read the credentials anew; whether they now differ from the `refused` ones."""
        async with self._lock:  # a hundred requests refused together ask once
            now = asyncio.get_running_loop().time()
            if self.reload and self.authorization == refused and now - self._read_at > IMPATIENCE:
                self._read_at = now
                await self._reload(self.reload)
        return self.authorization != refused

    async def keep_fresh(self) -> None:
        """Renew every minute, for ever."""
        while True:
            await asyncio.sleep(REFRESH)
            await self.renew(self.authorization)

    async def _reload(self, reload: Callable[[], Awaitable[str]]) -> None:
        try:
            self.authorization = await reload()
        except Exception as error:  # whatever a plugin does, the credentials in hand may still do
            log.warning("credentials cannot be renewed: %s", _harmless(error))


async def find(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """The server named by `kubeconfig`, $KUBECONFIG, ~/.kube/config or, in a pod, the pod's own.

    Raises Refused, with what is missing, if none of them can be used.
    """
    # The library's own messages name whole user entries, tokens included; ours stand in for them.
    logging.getLogger("kubernetes_asyncio.config.kube_config").setLevel(logging.CRITICAL)
    from kubernetes_asyncio.client import Configuration

    conf = Configuration()
    files = kubeconfig or os.environ.get("KUBECONFIG") or _default_file()
    try:
        load, namespace = await (_from_files if files else _from_pod)(files, context, conf)
        access = _access(conf, namespace)
    except Refused:
        raise
    except Exception as error:
        where = f"kubeconfig {files}" if files else "the pod's service account"
        raise Refused(f"{where} cannot be used: {_harmless(error)}") from None

    async def reload() -> str:
        await load()
        if access.tls is not None:
            _load_certificates(access.tls, conf)
        return _authorization(conf)

    access.reload = reload
    return access


def _default_file() -> str:
    path = Path.home() / ".kube" / "config"
    return str(path) if path.exists() else ""


def _any_exists(files: str) -> bool:
    return any(Path(f).expanduser().exists() for f in files.split(os.pathsep) if f)


async def _from_files(files: str, context: str | None, conf: Any) -> Found:
    if not _any_exists(files):
        raise Refused(f"kubeconfig {files} does not exist")
    from kubernetes_asyncio.config import load_kube_config

    loader = await load_kube_config(files, context, client_configuration=conf)
    chosen: Any = loader.current_context
    namespace = chosen["context"].get("namespace") or ""
    # Asks an exec or OIDC plugin only when its token is about to expire; reads files always.
    return lambda: loader.load_and_set(conf), namespace


async def _from_pod(_: str, context: str | None, conf: Any) -> Found:
    if context or not os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise Refused("no kubeconfig: pass --kubeconfig, set KUBECONFIG or write ~/.kube/config")
    from kubernetes_asyncio import config

    read: Any = config.load_incluster_config  # untyped

    async def load() -> None:
        read(client_configuration=conf, try_refresh_token=False)

    await load()
    file = SERVICE_ACCOUNT / "namespace"
    return load, file.read_text().strip() if file.exists() else ""


def _access(conf: Any, namespace: str) -> Access:
    return Access(
        server=conf.host.rstrip("/"),
        tls=_tls(conf) if conf.host.startswith("https:") else None,
        server_name=conf.tls_server_name,
        proxy=conf.proxy or proxy_for(conf.host),
        authorization=_authorization(conf),
        namespace=namespace,
    )


def _authorization(conf: Any) -> str:
    # Files end with a newline, which no header may contain.
    return (conf.api_key.get("BearerToken") or "").strip()


def _tls(conf: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=conf.ssl_ca_cert)
    # From Python 3.13 on the default refuses CAs that kubectl and every cluster tool accept
    # (no key identifiers). The chain and the host name are verified all the same.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not conf.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    _load_certificates(context, conf)
    return context


def _load_certificates(context: ssl.SSLContext, conf: Any) -> None:
    # On a live context this serves the next handshake; open connections go on.
    if conf.ssl_ca_cert:
        context.load_verify_locations(conf.ssl_ca_cert)
    if conf.cert_file:
        context.load_cert_chain(conf.cert_file, conf.key_file)


def proxy_for(server: str) -> str | None:
    """The proxy that the environment names for this URL, or None.

    Looked up once: aiohttp's `trust_env` does it in a thread for every request. `NO_PROXY` may
    hold networks (10.0.0.0/8), which the standard library does not know and in-cluster pods need.
    """
    url = urlsplit(server)
    host, proxies = url.hostname or "", getproxies()
    if proxy_bypass(url.netloc) or host == "localhost" or _in_networks(host, proxies.get("no", "")):
        return None
    return proxies.get(url.scheme) or proxies.get("all")


def _in_networks(host: str, networks: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for text in networks.split(","):
        try:
            if address in ipaddress.ip_network(text.strip(), strict=False):
                return True
        except ValueError:  # a name, not a network
            continue
    return address.is_loopback


def _harmless(error: Exception) -> str:
    """What went wrong, cut before the point where the library prints the entry, secrets and all."""
    text = f"{type(error).__name__}: {error}"
    return text.split(" in ")[0] if "Invalid kube-config" in text else text
