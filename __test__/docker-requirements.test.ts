// What is asked of containers and their sessions, by the number of the requirement, of the rule of security, or of the defect
// that is beaten: which test would fail. Those of `crates/guest` and `__test__/docker` need an engine (`npm test -- docker`).

import { DockerBackend, getRuntime } from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { type Held, missingTests } from './support.js'

const CORE = 'crates/core/src/backend/docker/'
const ENGINE = 'crates/guest/tests/docker/'
const LIFE = `${ENGINE}life.rs`
const FAKE = `${CORE}life_tests.rs`
const SPEC = `${CORE}spec.rs`
const RUNTIME = `${CORE}runtime.rs`
const SAMPLES = `${CORE}samples.rs`
const PACKAGE = '__test__/docker/docker.test.ts'
const SAME = '__test__/docker/same-answers.test.ts'
const OPTIONS = '__test__/docker-options.test.ts'
const SESSIONS = '__test__/session-manager.test.ts'
const HOSTILE = 'crates/core/src/backend/guest/hostile.rs'

/**
 * Which test would fail. What is otherwise on purpose: `isAlive` is not remembered for seconds (BE-125), as it would hand out a container
 * that has ended; a PDF is handed to the model as it is, and not as the text in it (BE-123); an image may be all that is said where
 * a container of others had to be there (TT-6).
 */
const HELD: Held = [
  ['BE-120 R-DK-1', SPEC, 'is_hardened_unless_told_otherwise'],
  ['BE-120 R-DK-1', SPEC, 'options_reach_the_engine'],
  ['BE-120', SPEC, 'without_a_guest_the_first_process_is_a_shell_under_the_engines_init'],
  ['BE-120 R-DK-1', `${ENGINE}walls.rs`, 'the_walls_are_up_by_default'],
  ['BE-120 D30', SAMPLES, 'each_recorded_option_changes_this_of_a_container'],
  ['BE-120 R-DK-1', `${ENGINE}network.rs`, 'a_container_has_the_network_that_was_asked_for_and_no_other'],
  ['BE-120', `${ENGINE}runtimes.rs`, 'variables_of_the_image_the_container_and_the_command_lie_one_over_the_other'],
  ['BE-120', LIFE, 'starts_by_itself_and_leaves_nothing'],
  ['BE-120', `${ENGINE}debian.rs`, 'git_and_python_work_in_debian_without_asking'],
  ['BE-120 R-DK-1', `${ENGINE}walls.rs`, 'a_root_that_cannot_be_written_and_another_user'],
  ['BE-120', `${ENGINE}walls.rs`, 'a_user_of_the_image_has_the_working_directory'],
  ['BE-120', `${ENGINE}walls.rs`, 'a_user_that_the_image_names_has_the_working_directory'],
  ['BE-121', LIFE, 'a_container_with_a_name_is_kept_and_resumed'],
  ['BE-121', LIFE, 'a_container_that_somebody_else_made_is_used_and_left'],
  ['BE-121', `${CORE}make.rs`, 'a_name_is_not_the_beginning_of_somebody_elses_number'],
  ['BE-121 R-DK-4', `${ENGINE}held.rs`, 'two_that_resume_the_same_one_at_once_put_the_guest_into_it_once'],
  ['BE-122 D30', `${ENGINE}contract.rs`, 'a_container_keeps_the_contract'],
  ['BE-122', `${ENGINE}contract.rs`, 'commands_of_a_container_keep_the_contract'],
  ['BE-122', `${ENGINE}commands.rs`, 'a_ceiling_on_memory_bites_its_command_and_nobody_else'],
  ['BE-122 BE-124', `${ENGINE}commands.rs`, 'a_command_begins_within_the_mounts'],
  ['BE-122 D30', `${ENGINE}commands.rs`, 'output_is_bounded_where_it_arises'],
  ['BE-122 R-DK-3', `${ENGINE}commands.rs`, 'time_and_abort_end_the_whole_tree_inside'],
  ['BE-123 BE-124 D30', `${ENGINE}contract.rs`, 'a_container_keeps_the_contract'],
  ['BE-123 BE-124 D30', `${ENGINE}contract.rs`, 'mounts_of_a_container_keep_the_contract'],
  [
    'BE-123 BE-124 D30',
    SAME,
    'reads, line ends, tags and searches are the same on this machine, in a container, and through its shell',
  ],
  ['BE-123 BE-124 D30', PACKAGE, 'a toolset works in a container'],
  ['BE-124 R-DK-4', `${ENGINE}by_shell.rs`, 'files_of_a_container_without_a_guest_are_used_through_its_shell'],
  ['BE-125', LIFE, 'starts_by_itself_and_leaves_nothing'],
  ['BE-125', FAKE, 'who_closes_or_stops_does_not_wait_for_a_pull'],
  ['BE-125', OPTIONS, 'a missing engine is an error that says what was tried'],
  ['BE-130', SAMPLES, 'a_description_has_the_recorded_defaults'],
  ['BE-130', OPTIONS, 'a runtime of your own is checked'],
  ['BE-130', `${CORE}builtin.rs`, 'an_unknown_name_is_answered_with_the_known_ones'],
  ['BE-130', RUNTIME, 'what_an_image_cannot_take_is_not_dropped_in_silence'],
  ['BE-131', RUNTIME, 'another_content_has_another_name'],
  ['BE-131', `${ENGINE}runtimes.rs`, 'a_runtime_is_built_once_and_holds_its_values'],
  ['BE-131', `${ENGINE}runtimes.rs`, 'a_missing_image_is_an_error_that_names_it'],
  ['BE-131', `${ENGINE}builds.rs`, 'what_a_manager_downloads_is_kept_for_the_next_build_of_its_runtime'],
  ['BE-131', `${ENGINE}builds.rs`, 'an_image_is_found_again_whoever_built_it'],
  ['BE-131', `${ENGINE}builds.rs`, 'what_a_build_says_is_heard_while_it_runs'],
  ['BE-131', `${ENGINE}builds.rs`, 'a_runtime_that_is_not_to_be_kept_is_built_each_time'],
  ['BE-131', `${ENGINE}builds.rs`, 'an_image_that_a_container_uses_is_not_removed_with_those_before'],
  ['BE-131 R-DK-1', `${ENGINE}runtimes.rs`, 'an_image_is_taken_by_its_digest'],
  ['BE-131', `${ENGINE}builds.rs`, 'a_build_that_nobody_waits_for_ends'],
  ['BE-131', `${ENGINE}debian.rs`, 'apt_installs_from_what_was_kept'],
  ['BE-131', `${CORE}install.rs`, 'each_manager_keeps_what_it_downloads_for_its_runtime_alone'],
  ['BE-131', `${CORE}build.rs`, 'buildkit_that_was_asked_for_and_is_not_there_is_an_error'],
  ['BE-131', `${CORE}build.rs`, 'where_buildkit_refuses_the_classic_builder_builds_and_the_author_is_told'],
  ['BE-131', `${CORE}client/tests.rs`, 'a_build_that_says_nothing_for_too_long_is_given_up'],
  ['BE-132', RUNTIME, 'says_each_line_of_each_manager_and_user'],
  ['BE-132 BE-133 D31a', SAMPLES, 'each_recorded_configuration_is_made_into_this'],
  ['BE-133', RUNTIME, 'nothing_injects_a_line_or_an_option'],
  ['BE-133', SAMPLES, 'names_are_what_the_recorded_patterns_take'],
  ['BE-133 D61', RUNTIME, 'values_stay_values'],
  ['D31a D61', RUNTIME, 'a_version_is_no_redirection'],
  ['D31a D61', `${ENGINE}debian.rs`, 'the_packages_of_a_runtime_reach_their_program_as_they_are'],
  ['D61', `${ENGINE}by_shell.rs`, 'files_of_a_container_without_a_guest_are_used_through_its_shell'],
  ['BE-134', SAMPLES, 'the_runtimes_that_come_along_are_the_recorded_ones'],
  ['BE-134', OPTIONS, 'runtimes come along by name'],
  ['BE-140 BE-142', SESSIONS, "a session's own timeout beats the default, and `maxIdle` beats both"],
  [
    'BE-140 BE-142',
    SESSIONS,
    'a session is idle after an hour, and is looked for every five minutes, unless something else is said',
  ],
  ['BE-140 BE-141', SESSIONS, 'the default runtime is that of every session that asks for no other one'],
  ['BE-140', SESSIONS, 'what all sessions would share is refused'],
  ['BE-141', SESSIONS, 'calls at the same time make one session'],
  ['BE-141', SESSIONS, 'a dead session is stopped and replaced'],
  ['BE-141', SESSIONS, 'a start that fails is stopped, forgotten, and told'],
  ['BE-141 D31', SESSIONS, 'the limit holds for ids that come at once'],
  ['BE-142', SESSIONS, 'a session is used again, and released once'],
  ['BE-142', SESSIONS, 'a shutdown stops all, also where one does not stop'],
  ['BE-142', SESSIONS, 'who hears of a release hears of what has stopped, and may ask for it again (BE-142)'],
  ['BE-142', SESSIONS, 'the cleanup loop goes on after a failure'],
  ['BE-142', SESSIONS, 'sessions may be asynchronous'],
  ['BE-142 D31', SESSIONS, 'what is busy, or does not tell, is not evicted'],
  ['BE-142 D30', `${ENGINE}idle.rs`, 'every_operation_is_use_of_the_container'],
  ['BE-142 D30', LIFE, 'an_idle_container_is_stopped_and_a_busy_one_is_not'],
  ['BE-142 D30', FAKE, 'who_uses_a_mount_uses_the_container'],
  ['BE-142 D30', `${ENGINE}beside.rs`, 'a_command_runs_in_the_background_and_keeps_the_container_busy'],
  ['BE-143', PACKAGE, 'fifty sessions at once are used, evicted, and none is left or mixed up'],
  ['BE-143 D31', SESSIONS, 'each session has its own workspace, and no link in its place'],
  ['D31', SESSIONS, 'an id is a plain name'],
  ['D30 TS-41', `${ENGINE}beside.rs`, 'a_terminal_takes_keys_and_sizes'],
  ['D30 TS-41', PACKAGE, 'a terminal in a container is drawn, resized, and taken over by a person'],
  ['D30', PACKAGE, 'a command whose time is over runs on in the container, and takes input'],
  ['D30', `${ENGINE}far.rs`, 'an_engine_by_ssh_is_one_like_any_other'],
  ['D30', `${ENGINE}far.rs`, 'an_engine_by_tls_is_one_like_any_other_and_needs_the_certificates'],
  ['TT-6', LIFE, 'a_container_that_somebody_else_made_is_used_and_left'],
  ['TT-6', OPTIONS, 'a container without a name, an image or an engine says what is missing (TT-6)'],
  ['TT-6', `${CORE}engine.rs`, 'says_what_was_tried_and_what_would_help'],
  ['TT-6', `${CORE}engine.rs`, 'an_engine_that_says_nothing_is_given_up'],
  ['TT-6', PACKAGE, 'sessions of terminals keep their state in a container (TT-6)'],
  ['TS-41', '__test__/toolset.test.ts', 'a command that names no time has the one of the limits (TS-41)'],
  ['TS-41', OPTIONS, 'relative paths begin in the working directory'],
  ['TS-41', LIFE, 'a_container_with_a_name_is_kept_and_resumed'],
  ['TS-41', PACKAGE, 'mounts have the same paths inside and outside'],
  ['R-DK-1', `${ENGINE}walls.rs`, 'limits_bite'],
  ['R-DK-1', `${ENGINE}walls.rs`, 'processors_are_bounded_and_the_capabilities_are_the_ones_that_were_asked_for'],
  ['R-DK-1', `${ENGINE}walls.rs`, 'files_have_a_size_and_a_disk_that_cannot_be_bounded_is_said_to_be_so'],
  ['R-DK-1', `${ENGINE}walls.rs`, 'a_root_that_cannot_be_written_cannot_be_by_root'],
  ['R-DK-1', `${ENGINE}builds.rs`, 'a_build_has_the_memory_of_the_container'],
  ['R-DK-1', PACKAGE, 'what an author sets reaches the container'],
  [
    'R-DK-2',
    `${ENGINE}mounts.rs`,
    'a_directory_that_was_replaced_before_a_container_starts_is_not_taken_for_the_one_that_was_given',
  ],
  ['R-DK-2', `${ENGINE}mounts.rs`, 'what_the_engine_keeps_of_all_containers_is_not_mounted'],
  ['R-DK-3', `${ENGINE}revived.rs`, 'nothing_outlives_a_call_that_has_killed_what_watches_it'],
  ['R-DK-1', `${ENGINE}debian.rs`, 'a_fork_bomb_ends_with_its_time_in_debian'],
  ['R-DK-1', SPEC, 'refuses_what_opens_the_wall'],
  ['R-DK-2', SPEC, 'mounts_become_binds_under_the_agents_paths'],
  ['R-DK-2', SPEC, 'the_machine_is_not_mounted'],
  ['R-DK-2', `${CORE}handed_out.rs`, 'nothing_that_opens_the_machine_is_handed_out'],
  ['R-DK-5', LIFE, 'nobody_elses_container_keeps_a_guest'],
  ['R-DK-3', `${ENGINE}by_shell.rs`, 'commands_without_a_guest_are_told_apart_bounded_and_ended'],
  ['R-DK-5', LIFE, 'a_container_does_not_outlive_a_host_that_is_killed'],
  ['R-DK-5', LIFE, 'a_sweep_takes_what_the_dead_left_and_nothing_else'],
  ['R-DK-5', LIFE, 'a_container_of_an_image_that_was_made_of_one_of_ours_is_not_ours'],
  ['R-DK-5', `${CORE}client/tests.rs`, 'one_stream_of_two_comes_out'],
  ['R-DK-5', HOSTILE, 'a_peer_that_does_not_read_holds_nobody_up'],
]

const ASKED =
  `BE-120 BE-121 BE-122 BE-123 BE-124 BE-125 BE-130 BE-131 BE-132 BE-133 BE-134 BE-140 BE-141 BE-142 BE-143 TT-6 TS-41
  D30 D31 D31a D61 R-DK-1 R-DK-2 R-DK-3 R-DK-4 R-DK-5`.split(/\s+/)

test('each number is held by a test', () => {
  const held = new Set(HELD.flatMap(([ids]) => ids.split(' ')))
  expect(ASKED.filter((id) => !held.has(id))).toEqual([])
})

test('every test that holds a requirement is there', async () => {
  expect(await missingTests(HELD)).toEqual([])
})

test('a container says what it was made with, before it runs (BE-125)', () => {
  const backend = new DockerBackend({ runtime: 'python-minimal', idleTimeout: 5_000, sessionId: 'user-42' })
  onTestFinished(() => backend.close())
  const { runtime, idleTimeout, sessionId } = backend
  expect([runtime, idleTimeout, sessionId]).toEqual([getRuntime('python-minimal'), 5_000, 'user-42'])
  // Nothing runs, and that is told from a call that does also within the first millisecond.
  expect(backend.idleMs).toBeGreaterThan(0)
  const plain = new DockerBackend({ image: 'x' })
  onTestFinished(() => plain.close())
  expect([plain.runtime, plain.idleTimeout, plain.sessionId]).toEqual([undefined, undefined, undefined])
})
