"""Where the embedded server is known to differ, and why; a test that passes must not be here."""

_TYPES = "the schemas of Kubernetes' own kinds are not known: what is sent is stored"
_OWNERS = "managedFields begin with the first server-side apply"

DIFFERENCES: dict[str, str] = {
    "test_every_writer_is_in_managed_fields": _OWNERS,
    "test_a_conflict_names_who_updated_before_the_first_apply": _OWNERS,
    "test_unknown_fields_of_built_in_kinds_are_refused_if_asked_strictly": _TYPES,
    "test_mistyped_fields_of_built_in_kinds_are_refused": _TYPES,
    "test_a_container_gets_all_its_defaults": _TYPES,
    "test_a_new_node_is_tainted_until_it_is_ready": "nobody would take the taint away again",
    "test_a_namespace_gets_its_service_account": "there is no kube-controller-manager",
    "test_openapi_of_the_second_version": "clients of today ask for the third",
    "test_who_may_what_can_be_asked": "roles are not known: whoever is let in may do everything",
}
