// A program in CommonJS: checked by the compiler, never run.

import { createToolset, GloveportError, LocalBackend, type ToolResult } from 'gloveport'
import { aiToolApproval, aiTools } from 'gloveport/ai-sdk'
import { langchainTools } from 'gloveport/langchain'

const toolset = createToolset({ backend: new LocalBackend({ root: '.' }) })

export const tools = [aiTools(toolset), aiToolApproval(toolset), langchainTools(toolset)]

export async function use(): Promise<ToolResult | undefined> {
  try {
    return await toolset.call('ls', {})
  } catch (error) {
    if (GloveportError.isInstance(error)) return undefined
    throw error
  }
}
