// Tests connections from a pod.
import { runOrThrow } from '../../chart/helm.ts'

/** `host:port` */
export type Target = string

const script = `
const { connect } = require('node:net')
const ask = (target) => new Promise((resolve) => {
  const [, host, port] = /^(.*):(\\d+)$/.exec(target)
  const socket = connect({ host, port: Number(port), timeout: 4000 })
  const end = (what) => { socket.destroy(); resolve([target, what]) }
  socket.on('connect', () => end('open')).on('timeout', () => end('dropped')).on('error', ({ code }) => end(code))
})
Promise.all(process.argv.slice(1).map(ask)).then((all) => console.log(JSON.stringify(Object.fromEntries(all))))
`

type Reached = Readonly<Record<Target, string>>

/** Result by target: `open`, `dropped`, or the connection error. */
export async function reach(namespace: string, from: string, targets: readonly Target[]): Promise<Reached> {
  const args = ['-n', namespace, 'exec', from, '--', 'node', '-e', script, ...targets]
  return JSON.parse(await runOrThrow('kubectl', args)) as Reached
}

export const all = (targets: readonly Target[], what: string): Reached =>
  Object.fromEntries(targets.map((target) => [target, what]))
