// An agent's commands inside a container, and a person's session of their own. It needs an engine of containers (Docker or Podman)
// that has an image with a shell: `docker pull python:3.12-slim`, or name another one. Where there is none it says so.
//
//   node --import tsx examples/container.ts [image]

import { createToolset, GloveportError, SessionManager } from 'gloveport'

const [image = 'python:3.12-slim'] = process.argv.slice(2)
const sessions = new SessionManager({ docker: { image, pull: 'never', memory: 256 * 1024 ** 2 }, maxSessions: 10 })
try {
  // Each person has a container; who asks twice gets the same one.
  const [ada, bob] = await Promise.all([sessions.getOrCreate('ada'), sessions.getOrCreate('bob')])
  const toolset = createToolset({ backend: ada, permissions: 'permissive' })
  await toolset.call('write_file', { path: 'greeting.txt', content: 'Hello from inside.\n' })
  const { text } = await toolset.call('execute', { command: 'cat greeting.txt; id -u; ls /sys/class/net' })
  console.log(text)
  await toolset.close()

  // Nothing of the one is in the other, and neither has a network.
  const other = await bob.execute('ls; ls /sys/class/net')
  console.log(other.stdout)
  if (!text.includes('Hello from inside.') || other.stdout !== 'lo\n') process.exitCode = 1
} catch (error) {
  if (!GloveportError.isInstance(error) || error.code !== 'BACKEND_UNAVAILABLE') throw error
  console.log(`Nothing to show here. ${error.message}`)
} finally {
  await sessions.shutdown() // both containers are gone
}
