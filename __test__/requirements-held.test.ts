// Where each number that is asked of backends is held: by a test of `requirements.test.ts` that has it in its title, or by one
// of the core or of another suite, which a table names.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { type Held, missingTests } from './support.js'

const CORE = 'crates/core/src/'
const MEMORY = `${CORE}backend/memory/tests.rs`
const COMPOSITE = `${CORE}backend/composite/tests.rs`
const COMPOSITE_SHELL = `${CORE}backend/composite/shell_tests.rs`
const SHELL = `${CORE}backend/local/shell/tests.rs`
const BACKGROUND = `${CORE}session/tests.rs`
const ANSWERS = 'crates/core/tests/answers.rs'
const CONTRACT = 'ts/adapters/testing-cases.ts'

/** What tests elsewhere hold. BE-12 means nothing here: no backend is a wrapper to take off, as all are asynchronous. */
const HELD: Held = [
  ['BE-4', BACKGROUND, 'a_background_shell_is_started_read_listed_and_killed'],
  ['BE-4', BACKGROUND, 'output_comes_once_in_order_and_what_was_dropped_is_counted'],
  ['BE-5', `${CORE}backend/docker/usage.rs`, 'answers_as_recorded'],
  ['BE-14', SHELL, 'an_abort_ends_the_tree_and_returns_the_output_so_far'],
  ['BE-14', SHELL, 'ends_the_tree_when_nobody_waits_for_the_result_any_more'],
  ['BE-14', SHELL, 'the_calls_deadline_ends_a_command_without_a_limit_of_its_own'],
  ['BE-41 D13', ANSWERS, 'a_read_is_numbered_and_says_how_much_there_is'],
  ['BE-41 D13', CONTRACT, 'a last line end makes no further line (D13)'],
  ['BE-41', CONTRACT, 'binary content is exact, and no text (6, 7, D15)'],
  ['BE-42', MEMORY, 'a_document_comes_back_as_it_went'],
  ['BE-43', MEMORY, 'documents_of_others_load'],
  ['BE-44', CONTRACT, 'a listing shows directories first, then names, level by level'],
  ['BE-44', CONTRACT, 'glob matches names by pattern (12, 13, 27, D7, D8)'],
  ['BE-44', CONTRACT, 'a hidden file that is named is searched (28)'],
  ['BE-50', COMPOSITE, 'the_longest_route_wins_on_whole_names'],
  ['BE-51', COMPOSITE, 'the_longest_route_wins_on_whole_names'],
  ['BE-51', '__test__/composite-backend.test.ts', 'strip gives a route its own paths, and moves lead across'],
  ['BE-52', COMPOSITE, 'listings_show_routes_at_any_depth'],
  ['BE-53', COMPOSITE, 'an_error_of_any_part_is_the_error_of_the_search'],
  ['D16', COMPOSITE_SHELL, 'commands_go_to_the_default'],
  ['D16', COMPOSITE_SHELL, 'background_commands_and_terminals_go_to_the_default'],
  ['BE-62', `${CORE}backend/posix/answer.rs`, 'what_was_cut_is_no_answer'],
  ['BE-62', '__test__/shell-backend.test.ts', 'a shell whose answers are cut is an error, never a shorter file'],
  [
    'BE-64',
    `${CORE}backend/remote/tests.rs`,
    'a_question_about_files_that_nobody_answers_ends_by_itself_and_is_withdrawn',
  ],
  ['R-ME-1', 'crates/core/tests/contract/main.rs', 'memory_keeps_the_contract'],
  ['R-ME-1', MEMORY, 'quotas_hold_to_the_byte_and_a_refusal_changes_nothing'],
  ['R-ME-1', MEMORY, 'a_depth_beyond_the_ceiling_is_the_ceiling'],
  ['R-ME-1', '__test__/requirements.test.ts', 'names in memory are names (BE-40, D12, BE-45)'],
]

/** What is asked of backends by number. */
const ASKED = `BE-1 BE-2 BE-3 BE-4 BE-5 BE-6 BE-7 BE-8 BE-10 BE-11 BE-13 BE-14 BE-40 BE-41 BE-42 BE-43 BE-44 BE-45
  BE-50 BE-51 BE-52 BE-53 BE-54 BE-60 BE-61 BE-62 BE-63 BE-64 D12 D13 D14 D15 D16 D17 R-ME-1
  TS-40 TS-41 TS-42 TS-43`.split(/\s+/)

test('each number is held by a test that is there', async () => {
  expect(await missingTests(HELD)).toEqual([])
  const tests = await readFile(join(import.meta.dirname, 'requirements.test.ts'), 'utf8')
  const titles = [...tests.matchAll(/^test\('.*\((?<ids>[^()]+)\)',/gm)]
  const held = new Set([
    ...HELD.flatMap(([ids]) => ids.split(' ')),
    ...titles.flatMap(({ groups }) => groups?.['ids']?.split(', ') ?? []),
  ])
  expect(ASKED.filter((id) => !held.has(id))).toEqual([])
})
