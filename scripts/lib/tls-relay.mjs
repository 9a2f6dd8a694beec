// The engine under test a second time, behind TLS that asks for a certificate, as engines on other machines are: a relay in
// this process, so that no port has to be guessed.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'

/** Two days: nobody uses them tomorrow. */
const DAYS = '2'
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** An authority, and what it vouches for: the relay (`server`), and whoever may use it (`cert.pem`, `key.pem`). */
function certificates(folder) {
  mkdirSync(folder)
  const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const authority = ['-keyout', 'ca-key.pem', '-out', 'ca.pem', '-days', DAYS, '-subj', '/CN=gloveport-test']
  openssl('req', '-x509', ...KEY, ...authority)
  const vouchedFor = (key, file, extension) => {
    writeFileSync(join(folder, 'extension'), extension)
    openssl('req', ...KEY, '-keyout', key, '-out', 'request', '-subj', `/CN=${file}`)
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-CAcreateserial', '-days', DAYS, '-extfile', 'extension']
    openssl('x509', '-req', '-in', 'request', ...by, '-out', file)
  }
  vouchedFor('server-key.pem', 'server.pem', 'subjectAltName=IP:127.0.0.1')
  vouchedFor('key.pem', 'cert.pem', 'extendedKeyUsage=clientAuth')
}

/** Relays to `socket`: its address, the folder of the certificates, and how to stop it. */
export async function startRelay(folder, socket) {
  const certs = join(folder, 'certs')
  certificates(certs)
  const read = (file) => readFileSync(join(certs, file))
  const options = { key: read('server-key.pem'), cert: read('server.pem'), ca: read('ca.pem') }
  const open = new Set()
  const server = createServer({ ...options, requestCert: true, rejectUnauthorized: true, allowHalfOpen: true })
  server.on('secureConnection', (far) => {
    const near = connect({ path: socket, allowHalfOpen: true })
    for (const [one, other] of [
      [far, near],
      [near, far],
    ]) {
      open.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => open.delete(one))
    }
  })
  // Whoever has no certificate is refused, and that is no fault of the relay.
  server.on('tlsClientError', () => {})
  await new Promise((resolve, reject) => server.listen(0, '127.0.0.1', resolve).once('error', reject))
  const stop = () => {
    server.close()
    for (const each of open) each.destroy()
  }
  return { host: `tcp://127.0.0.1:${server.address().port}`, certs, stop }
}
