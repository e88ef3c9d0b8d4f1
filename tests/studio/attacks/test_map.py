"""Which test proves which line of the lists of attacks.

Two lists say what the studio must stand: 19 groups of attacks, and 17 things that annotation tools in
the field got wrong. ``GROUPS`` and ``FIELD`` name, for every one of them, the tests that prove it; ``NOT_HERE`` says
what a line asks of what the studio does not have (a sandbox, Label
Studio): those tests come with those rooms, and until then a test asserts that there is no such
address. The test below asserts that every named test exists, so a test that is renamed or removed shows.

A name is ``path::test``, the path from ``tests/``.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
HERE = "studio/attacks"

GROUPS: dict[int, tuple[str, ...]] = {
    # 1 object access: foreign ids are 404, the same and as fast as what is not there
    1: (
        f"{HERE}/test_routes.py::test_every_route_as_everybody",
        f"{HERE}/test_routes.py::test_what_is_somebody_elses_reads_like_what_is_not_there",
        f"{HERE}/test_routes.py::test_what_is_somebody_elses_takes_as_long_as_what_is_not_there",
        f"{HERE}/test_routes.py::test_a_session_of_somebody_else_cannot_be_ended",
        f"{HERE}/test_media.py::test_nobody_else_sees_it",
    ),
    # 2 roles in state
    2: (
        f"{HERE}/test_state.py::test_nobody_adjudicates_what_they_judged",
        f"{HERE}/test_state.py::test_an_annotator_gets_no_case_by_asking",
        f"{HERE}/test_state.py::test_a_coordinators_judgement_counts_once",
        f"{HERE}/test_routes.py::test_a_coordinator_has_no_power_over_an_owner",
        f"{HERE}/test_routes.py::test_nobody_lifts_themselves",
    ),
    # 3 requests from other sites
    3: (
        f"{HERE}/test_requests.py::test_other_sites_change_nothing",
        f"{HERE}/test_requests.py::test_json_as_plain_text_is_refused",
        f"{HERE}/test_requests.py::test_methods_that_override_are_not_believed",
        f"{HERE}/test_routes.py::test_no_get_changes_a_row",
        "studio/test_guard.py::test_a_change_that_a_foreign_page_asks_for_is_refused",
        "studio/test_guard.py::test_a_cross_site_form_on_the_wire",
    ),
    # 4 sessions
    4: (
        f"{HERE}/test_secrets.py::test_a_cookie_from_before_is_never_signed_in",
        f"{HERE}/test_secrets.py::test_the_store_holds_no_token_and_no_password",
        "studio/test_auth.py::test_a_token_has_256_bits_and_is_never_stored",
        "studio/test_auth.py::test_twelve_hours_idle_and_fourteen_days",
        "studio/test_auth.py::test_signing_in_again_rotates_and_ends_the_old_session",
        "studio/test_auth.py::test_the_cookies_name",
        "studio/test_auth.py::test_a_restart_signs_nobody_out",
        "studio/test_account.py::test_a_new_role_signs_out_at_once",
        "studio/test_account.py::test_everywhere_is_everywhere",
        "studio/faults/test_store.py::test_the_key_is_gone",
        "studio/faults/test_store.py::test_the_key_is_another_one",
    ),
    # 5 invitations
    5: (
        "verify/desk/test_people.py::test_an_invitation_works_once",
        "verify/desk/test_people.py::test_an_invitation_lasts_seven_days",
        "verify/desk/test_people.py::test_two_at_once_make_one_account",
        "verify/desk/test_people.py::test_nobody_invites_above_their_own_role",
        "studio/test_account.py::test_programs_that_follow_links_use_nothing_up",
        "studio/test_account.py::test_an_invitation_whose_author_was_downgraded",
    ),
    # 6 sign-in
    6: (
        "studio/test_passwords.py::test_what_is_delivered_is_argon2id_with_rfc_parameters",
        "studio/test_auth.py::test_wrong_unknown_left_and_without_password_read_alike",
        "studio/test_auth.py::test_the_same_work_for_names_that_nobody_has",
        "studio/test_auth.py::test_five_wrong_ones_a_minute_for_one_name_from_one_address",
        "studio/test_auth.py::test_guessing_with_many_names_or_from_many_addresses_ends_too",
        "studio/test_account.py::test_the_first_owner_comes_by_a_link_from_the_command_line",
    ),
    # 7 hostile texts
    7: (
        f"{HERE}/test_texts.py::test_nothing_of_a_text_becomes_markup",
        f"{HERE}/test_texts.py::test_the_texts_are_shown_as_they_are",
        f"{HERE}/test_texts.py::test_what_a_form_sends_back_is_escaped",
        f"{HERE}/test_texts.py::test_no_script_runs_in_a_browser",
        f"{HERE}/test_texts.py::test_addresses_to_go_on_to_are_ours",
        f"{HERE}/test_texts.py::test_a_word_of_ten_thousand_letters_is_kept_whole",
        f"{HERE}/test_secrets.py::test_templates_have_no_script_no_style_and_no_foreign_address",
        f"{HERE}/test_secrets.py::test_texts_that_templates_do_not_escape_come_from_our_own_renderers",
        "studio/test_markdown.py::test_attacks_stay_text",
        "studio/js/test_sheet.py::test_modules_build_no_markup_from_strings_and_set_no_styles",
        "studio/test_guard.py::test_the_policy_allows_nothing_inline",
    ),
    # 8 SVG and DOT
    8: (
        f"{HERE}/test_rounds.py::test_a_graph_is_drawn_without_markup_of_its_steps",
        f"{HERE}/test_texts.py::test_the_drawing_gets_no_link_and_no_node_from_a_step",
        f"{HERE}/test_requests.py::test_a_form_with_a_file_is_no_form_of_ours",
        "drawing/test_engines.py::test_no_text_of_a_step_reaches_a_layout_program",
    ),
    # 9 files
    9: (
        f"{HERE}/test_media.py::test_there_is_no_way_out_of_the_folder",
        f"{HERE}/test_media.py::test_a_link_out_of_the_folder_is_not_followed",
        f"{HERE}/test_secrets.py::test_no_module_unpickles_kills_shells_or_fetches",
        "studio/test_serving.py::test_strange_names_are_not_found",
        "studio/test_serving.py::test_links_do_not_lead_out",
        "studio/test_guard.py::test_addresses_that_are_none_of_ours",
        "studio/test_recordings.py::test_what_is_no_slice_is_refused",
        "studio/test_recordings.py::test_slices_come_in_order_once_and_a_differing_one_is_kept_beside",
    ),
    # 10 ranges
    10: (
        f"{HERE}/test_media.py::test_ranges_are_answered_at_once",
        f"{HERE}/test_media.py::test_a_flood_of_ranges",
        f"{HERE}/test_media.py::test_the_person_of_an_assignment_sees_its_clip",
        "studio/test_serving.py::test_a_flood_on_a_big_file_takes_no_memory",
        "studio/test_serving.py::test_a_range_that_begins_after_the_end",
    ),
    # 11 exports
    11: (
        f"{HERE}/test_secrets.py::test_no_cell_of_a_table_is_a_formula",
        f"{HERE}/test_secrets.py::test_a_formula_gets_an_apostrophe",
        f"{HERE}/test_secrets.py::test_exports_are_listed_and_for_coordinators_alone",
        f"{HERE}/test_texts.py::test_an_export_with_hostile_names_has_a_harmless_file_name",
    ),
    # 12 privacy
    12: (
        f"{HERE}/test_secrets.py::test_no_export_holds_a_name_or_a_secret",
        f"{HERE}/test_secrets.py::test_logs_hold_no_names_tokens_or_answers",
        f"{HERE}/test_secrets.py::test_an_error_of_the_database_brings_no_answer_into_the_log",
        "verify/desk/test_people.py::test_withdrawing_leaves_no_personal_word_in_any_table",
        "verify/desk/test_people.py::test_events_hold_no_names",
        "verify/desk/test_people.py::test_what_is_long_over_is_deleted",
        "verify/desk/test_withdrawal.py::test_what_they_judged_counts_no_more_in_any_revision",
        "studio/test_account.py::test_consent_then_guideline_then_work",
        "studio/test_recordings.py::test_who_withdraws_leaves_no_picture_and_no_voice",
        "studio/test_recordings.py::test_camera_and_microphone_are_for_this_page_alone",
    ),
    13: (
        "studio/test_recordings.py::test_a_recorder_hears_its_person_alone",
        "studio/test_recordings.py::test_verbs_that_are_none_reach_no_recorder",
        "studio/js/test_task_record.py::test_r8_somebody_elses_recording_is_not_there",
        "studio/js/test_task_record.py::test_r6_a_second_tablet_looks_on_until_it_takes_over",
        f"{HERE}/test_secrets.py::test_no_route_captures_fetches_or_calls_back",
        f"{HERE}/test_secrets.py::test_no_module_unpickles_kills_shells_or_fetches",
    ),
    # 14 Label Studio: no such room; see NOT_HERE
    14: (f"{HERE}/test_secrets.py::test_no_route_captures_fetches_or_calls_back",),
    # 15 outbound
    15: (
        f"{HERE}/test_secrets.py::test_the_studio_connects_to_nobody",
        f"{HERE}/test_secrets.py::test_no_module_unpickles_kills_shells_or_fetches",
    ),
    # 16 hosts and proxies
    16: (
        f"{HERE}/test_requests.py::test_another_name_for_this_server_gets_nothing",
        "studio/test_guard.py::test_a_foreign_name_for_this_server_is_refused",
        "studio/test_guard.py::test_what_nobody_named_as_a_proxy_says_is_not_believed",
        "cli/test_studio.py::test_unsafe_addresses_are_refused",
        "cli/test_studio.py::test_the_demo_is_served_on_this_machine_alone",
    ),
    # 17 limits
    17: (
        f"{HERE}/test_requests.py::test_a_body_of_more_than_a_megabyte",
        f"{HERE}/test_requests.py::test_writes_are_slowed_down_for_one_person_and_not_for_another",
        f"{HERE}/test_requests.py::test_sheets_that_are_refused_name_their_fields",
        f"{HERE}/test_requests.py::test_a_flood_of_drafts_is_one_row_of_bounded_size",
        f"{HERE}/test_requests.py::test_drafts_that_are_none",
        f"{HERE}/test_requests.py::test_forms_with_thousands_of_fields_are_refused_or_ignored",
        "studio/test_recordings.py::test_what_is_no_slice_is_refused",
        "studio/test_recordings.py::test_a_full_disk_takes_no_slice",
    ),
    # 18 blindness
    18: (
        f"{HERE}/test_blindness.py::test_an_adjudicator_cannot_tell_who_said_what",
        f"{HERE}/test_blindness.py::test_an_adjudicator_cannot_tell_what_is_settled",
        f"{HERE}/test_blindness.py::test_a_reader_learns_nothing_of_the_other",
        f"{HERE}/test_blindness.py::test_a_reader_learns_nothing_of_machines",
        f"{HERE}/test_rounds.py::test_a_tasks_page_depends_on_its_texts_alone",
        f"{HERE}/test_blindness.py::test_a_training_item_hides_its_reference_until_it_is_judged",
        "studio/walk/test_blindness.py::test_c11_the_bytes_are_the_same_whoever_wrote_it",
        "studio/walk/test_blindness.py::test_a6_no_word_of_sources_and_orders_of_ones_own",
    ),
    # 19 copies and the chain of events
    19: (
        "studio/faults/test_store.py::test_a_copy_can_be_restored",
        "studio/faults/test_store.py::test_a_running_studio_keeps_a_copy",
        "verify/desk/test_events.py::test_a_changed_row_is_found",
        "verify/desk/test_events.py::test_a_removed_row_is_found_at_the_one_after_it",
    ),
}

FIELD: dict[int, tuple[str, ...]] = {
    1: GROUPS[9],
    2: (*GROUPS[10], "studio/test_serving.py::test_readers_that_stop_keep_nobody_waiting"),
    3: GROUPS[7],
    4: (
        f"{HERE}/test_requests.py::test_a_form_with_a_file_is_no_form_of_ours",
        f"{HERE}/test_texts.py::test_data_routes_say_that_they_are_no_pages",
    ),
    5: GROUPS[3],
    6: GROUPS[16],
    7: (
        f"{HERE}/test_requests.py::test_every_answer_forbids_frames_and_foreign_scripts",
        "studio/test_guard.py::test_every_answer_carries_the_headers",
    ),
    8: (*GROUPS[1], f"{HERE}/test_routes.py::test_undo_and_submit_of_anothers_action"),
    9: (*GROUPS[4], *GROUPS[5], *GROUPS[6]),
    10: (
        f"{HERE}/test_state.py::test_a_double_click_is_one_submit",
        f"{HERE}/test_state.py::test_two_tabs_that_submit_at_once",
        f"{HERE}/test_state.py::test_two_tabs_that_save_drafts",
        f"{HERE}/test_state.py::test_saves_that_overtake_each_other",
        f"{HERE}/test_state.py::test_two_people_on_one_account",
        f"{HERE}/test_state.py::test_a_page_of_somebody_else_saves_nothing",
        f"{HERE}/test_requests.py::test_a_submit_needs_the_revision_that_it_knows",
        "studio/js/test_saving.py::test_c5_a_second_tab_reads_until_it_takes_over",
        "studio/js/test_saving.py::test_c6_a_stale_revision_shows_both_texts_and_merges_nothing",
        "studio/js/test_saving.py::test_back_after_a_submit_shows_it_and_a_change_is_a_new_revision",
        "studio/js/test_saving.py::test_a_server_that_does_not_save_is_not_called_saved",
    ),
    11: (
        "studio/faults/test_kill.py::test_every_acknowledged_save_survives_sigkill",
        "studio/faults/test_kill.py::test_a_submit_whose_answer_was_lost_counts_once",
        "studio/faults/test_store.py::test_a_save_waits_for_another_process",
        "studio/faults/test_store.py::test_a_save_that_waited_too_long_says_so_and_succeeds_later",
        "verify/desk/test_writer.py::test_many_threads_at_once_lose_nothing",
    ),
    12: (
        "studio/faults/test_store.py::test_a_full_disk_is_said_and_earlier_work_is_there",
        "studio/faults/test_store.py::test_no_file_may_grow_any_more",
        "studio/faults/test_store.py::test_a_workspace_that_cannot_be_written",
        "studio/faults/test_store.py::test_a_clock_that_is_set_back",
        "studio/faults/test_store.py::test_a_reserved_case_and_a_clock_that_is_set_back",
    ),
    13: (
        f"{HERE}/test_requests.py::test_sheets_that_are_refused_name_their_fields",
        f"{HERE}/test_requests.py::test_drafts_that_are_none",
        f"{HERE}/test_rounds.py::test_sheets_that_no_page_of_a_task_sends",
    ),
    14: (f"{HERE}/test_requests.py::test_drafts_that_are_none",),
    15: GROUPS[11],
    16: GROUPS[18],
    17: (
        f"{HERE}/test_routes.py::test_only_these_routes_are_public",
        f"{HERE}/test_rounds.py::test_a_link_takes_in_who_gives_consent_and_gives_a_batch_and_nothing_else",
    ),
}

NOT_HERE: dict[str, str] = {
    "group 9": "a sandbox for programs that read uploads: nothing on the server reads a slice, and 'round collect' is run by hand",
    "group 12": "faces on media are not blurred: who is filmed has agreed, and media stay in the workspace",
    "group 13": "device tokens: a tablet is a browser with its person's session, a recorder listens to this user alone",
    "group 14": "Label Studio as a separate origin: no integration yet",
    "group 15": "webhooks and speech recognition: the studio connects to nobody, so there is no host to allow",
}

OTHER_FAULTS: dict[str, str] = {
    "network cut": "studio/js/test_saving.py::test_c3_a_submit_without_network_waits_and_goes_once",
    "tab killed": "studio/js/test_saving.py::test_c1_text_of_a_killed_tab_comes_back_though_the_server_never_had_it",
    "server killed": "studio/js/test_saving.py::test_c12_a_server_killed_in_between_loses_nothing",
    "server stopped": "studio/faults/test_kill.py::test_sigterm_answers_what_is_under_way",
    "database server stopped": "studio/faults/test_kill.py::test_the_database_server_goes_and_comes_back",
    "two servers": "studio/faults/test_kill.py::test_two_servers_on_one_store",
    "double click": f"{HERE}/test_state.py::test_a_double_click_is_one_submit",
    "back button": "studio/js/test_saving.py::test_back_after_a_submit_shows_it_and_a_change_is_a_new_revision",
    "two people on one account": f"{HERE}/test_state.py::test_two_people_on_one_account",
    "stale version": f"{HERE}/test_state.py::test_two_tabs_that_submit_at_once",
    "broken workspace": "studio/faults/test_store.py::test_a_workspace_that_is_broken_at_the_start",
}

NAMED = sorted(
    {name for group in (*GROUPS.values(), *FIELD.values()) for name in group} | set(OTHER_FAULTS.values())
)


@cache
def _named(path: str) -> frozenset[str]:
    """Names of the test functions of a module; none if there is no such module."""
    file = TESTS / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text("utf-8"))
    return frozenset(
        n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")
    )


def test_every_line_has_tests() -> None:
    assert sorted(GROUPS) == list(range(1, 20))
    assert sorted(FIELD) == list(range(1, 18))
    assert all(GROUPS.values())
    assert all(FIELD.values())


@pytest.mark.parametrize("name", NAMED)
def test_the_named_test_exists(name: str) -> None:
    path, _, test = name.partition("::")
    assert test in _named(path)
