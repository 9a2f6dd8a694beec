// A program at a person's terminal, for takeover.test.ts: asks for help with a session and writes down what the model is told.
import { writeFileSync } from 'node:fs'

import { createToolset, LocalBackend, terminalTakeover } from 'gloveport'

const [root, result] = process.argv.slice(2)
const backend = new LocalBackend({ root })
const takeover = terminalTakeover()
let typed
const toolset = createToolset({
  backend,
  tools: ['terminal'],
  requireExecuteApproval: false,
  onHelp: async (request, call) => {
    typed = await toolset.call('shell_write_to_process', { id: 'h', command: 'injected' })
    return takeover(request, call)
  },
})
// What is waited for does not stand in the command itself, which the shell echoes.
const hostile = String.raw`printf '\033]52;c;aGk=\007\033]2;evil\007\033[5i'; read -p 'Na''me: ' n; echo "hello $n"; stty size`
await toolset.call('shell_exec', { id: 'h', command: hostile, block: false })
const told = await toolset.call('shell_ask_user_for_help', { id: 'h', prompt: 'Type a\nname\u001B[2J' })
const size = await toolset.call('shell_exec', { id: 'h', command: 'stty size' })
writeFileSync(result, JSON.stringify({ typed, told, size }))
await toolset.close()
await backend.close()
