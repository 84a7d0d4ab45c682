import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { freePorts } from './free-ports.ts'

it('are different, also with concurrent calls', async () => {
  const ports = (await Promise.all(Array.from({ length: 30 }, () => freePorts(4)))).flat()
  expect(new Set(ports).size).toBe(120)
})

it('are different in two programs at once', async () => {
  const program = `import(${JSON.stringify(join(import.meta.dirname, 'free-ports.ts'))})
    .then(({ freePorts }) => freePorts(200))
    .then((ports) => process.stdout.write(JSON.stringify(ports) + '\\n'))
  setInterval(() => {}, 1_000)`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [line] = await once(createInterface(child.stdout), 'line')
    const theirs = JSON.parse(String(line)) as number[]
    const ours = await freePorts(200)
    expect(new Set([...theirs, ...ours]).size).toBe(400)
  } finally {
    child.kill('SIGKILL')
  }
})
