// An agent finds and mends a failing test in a real project, through gloveport's tools and the AI SDK.
//
// The model is scripted, and decides from what the tools really returned. With OPENAI_API_KEY or OPENAI_BASE_URL (any
// compatible server) set it is a real one; OPENAI_MODEL names it.

import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type * as AiSdk from 'ai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createToolset, LocalBackend } from 'gloveport'
import { aiTools } from 'gloveport/ai-sdk'
import { scriptedModel } from './support/scripted-model.js'
import { green, showAndApprove, speaksAloud, watchingHooks } from './support/watch.js'

// AI SDK 7 needs Node 22; on Node 20 the same program runs on AI SDK 6, where `instructions` is called `system`.
const isNewNode = Number(process.versions.node.split('.')[0]) >= 22
const { generateText, stepCountIs, wrapLanguageModel } = isNewNode
  ? await import('ai')
  : ((await import('ai6')) as unknown as typeof AiSdk)

const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL, OPENAI_MODEL: modelName = 'gpt-5' } = process.env
const model =
  apiKey || baseURL
    ? createOpenAICompatible({
        name: 'openai',
        baseURL: baseURL ?? 'https://api.openai.com/v1',
        ...(apiKey && { apiKey }),
      })(modelName)
    : scriptedModel()

const sample = fileURLToPath(new URL('projects/invoice', import.meta.url))
const project = await realpath(await mkdtemp(join(tmpdir(), 'invoice-')))
await cp(sample, project, { recursive: true })
console.log(`A project with a failing test: ${project}`)

const backend = new LocalBackend({ root: project })
const toolset = createToolset({ backend, permissions: 'default', approve: showAndApprove, hooks: watchingHooks })
try {
  await generateText({
    model: wrapLanguageModel({ model, middleware: speaksAloud }),
    prompt: 'A test of this project fails. Find out why and mend the code, not the test.',
    ...(isNewNode ? { instructions: toolset.instructions } : { system: toolset.instructions }),
    tools: aiTools(toolset),
    stopWhen: stepCountIs(40),
  })
} finally {
  await toolset.close()
  await backend.close()
}

// The agent's word is not enough: the tests say whether it is done.
const tests = spawnSync(process.execPath, ['--test'], { cwd: project, encoding: 'utf8' })
await rm(project, { recursive: true, force: true })
if (tests.status === 0) {
  console.log(`\n${green('✔ The test passes.')}`)
} else {
  console.log(`\n✗ The test still fails.\n${tests.stdout}`)
  process.exitCode = 1
}
