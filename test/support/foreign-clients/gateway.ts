// Runs inside a network namespace: answers TLS on port 443 with the given certificate, passes the bytes to a Unix
// socket outside, and runs a command meanwhile.
// Arguments: socket, certificate, key, command and its arguments.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createServer } from 'node:tls'

const [socketFile = '', certificateFile = '', keyFile = '', command = '', ...args] = process.argv.slice(2)

const server = createServer({ cert: readFileSync(certificateFile), key: readFileSync(keyFile) }, (client) => {
  const api = connect(socketFile)
  client.pipe(api).pipe(client)
  client.on('error', () => api.destroy())
  api.on('error', () => client.destroy())
})
server.listen(443, '127.0.0.1', () => {
  const child = spawn(command, args, { stdio: 'inherit' })
  child.once('exit', (code) => process.exit(code ?? 1))
})
