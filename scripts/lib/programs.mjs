// Programs of the machine that some Rust tests drive. CI installs them and runs every test; on a developer's machine the
// tests of a program that is missing are skipped by name, and counted.

import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** By program, the tests that need it; no other test has these names in its own. */
const DRIVEN = {
  vim: ['drives_vim', 'drives_an_interactive_rebase'],
  less: ['drives_less', 'less_runs_no_commands'],
  top: ['drives_top'],
  python3: [
    'drives_python',
    'keys_of_the_cursor_reach_programs_that_draw_with_curses',
    'lines_that_are_drawn_with_curses_are_lines',
    'a_command_that_asks_is_told_long_before_its_time_is_over',
    'whoever_in_the_foreground_waits_for_the_terminal_is_seen_long_before_it_was_quiet',
    'whoever_waits_for_something_else_is_not_taken_for_it',
    'an_interactive_shell_that_is_ended_runs_nothing_more',
    'ends_a_process_whose_first_thread_has_ended',
    'memory_of_a_process_whose_first_thread_has_ended_counts',
    'processor_time_of_children_that_nobody_waits_for_counts',
  ],
  dash: ['what_is_denied_stays_denied_however_a_shell_reads_it'],
  busybox: [
    'a_shell_of_busybox_keeps_a_session',
    'settings_cost_a_shell_of_busybox_neither_its_prompt_nor_exit_codes',
    'a_shell_of_busybox_keeps_the_contract',
    'a_shell_without_base64_and_stat_keeps_the_contract',
    'bytes_of_any_size_come_through_a_shell',
  ],
}

/** The names of all tests that need one. */
export const drivenTests = Object.values(DRIVEN).flat()

/** Whether a program of that name is found. @param {string} program */
export function isOnPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** The tests that cannot run here, after saying so; none in CI, where they fail instead. @returns {readonly string[]} */
export function undrivable() {
  if (process.env.CI) return []
  const missing = Object.entries(DRIVEN).filter(([program]) => !isOnPath(program))
  for (const [program, tests] of missing) {
    console.error(`! ${program} is not installed: skipping ${tests.join(', ')}, which CI runs`)
  }
  return [...new Set(missing.flatMap(([, tests]) => tests))]
}
