// Programs of the machine that some Rust tests drive. CI installs them and runs every test; on a developer's machine the
// tests of a program that is missing are skipped by name, and counted.

import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** By program, the tests that need it; no other test has these names in its own. */
const DRIVEN = {
  vim: ['drives_vim', 'drives_an_interactive_rebase'],
  less: ['drives_less', 'less_runs_no_commands'],
  top: ['drives_top'],
  python3: ['drives_python'],
  busybox: [
    'a_shell_of_busybox_keeps_a_session',
    'settings_cost_a_shell_of_busybox_neither_its_prompt_nor_exit_codes',
    'a_shell_of_busybox_keeps_the_contract',
    'a_shell_without_base64_and_stat_keeps_the_contract',
    'bytes_of_any_size_come_through_a_shell',
  ],
}

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
