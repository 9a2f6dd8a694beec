// A LangChain.js agent looks something up in a project that it may only read. The model is LangChain's own fake one, which
// answers from what the tools returned; put a real chat model in its place.

import { fileURLToPath } from 'node:url'
import { createToolset, LocalBackend } from 'gloveport'
import { langchainTools } from 'gloveport/langchain'
import { AIMessage, createAgent, fakeModel } from 'langchain'

const model = fakeModel()
  .respondWithTools([{ name: 'grep', args: { pattern: 'function addTax', output_mode: 'content' } }])
  .respond((messages) => new AIMessage(`addTax stands here: ${messages.at(-1)?.text.split('\n').at(-1)}`))

const project = fileURLToPath(new URL('projects/invoice', import.meta.url))
const backend = new LocalBackend({ root: project, mode: 'ro', execute: false })
const toolset = createToolset({ backend, permissions: 'readonly' })

const agent = createAgent({ model, tools: langchainTools(toolset), systemPrompt: toolset.instructions })
const { messages } = await agent.invoke({ messages: 'Where is the tax added?' })
for (const { type, text } of messages) if (type === 'tool') console.log(text)
console.log(messages.at(-1)?.text)

await toolset.close()
await backend.close()

// The example is a check as well: the answer must name the file.
if (!messages.at(-1)?.text.includes('src/tax.js:2')) process.exitCode = 1
