import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { identify, listHelpers } from '@matte/local/lifecycle/process-group'
import { prepareModelRepository } from '@matte/local/models/model-repository'
import { rootDir } from '@matte/local/paths'
import { installTriton, startTriton } from '@matte/local/servers/triton'
import { afterEach, expect, inject, it } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { until } from '../support/until.ts'

const regionsOf = (pid: number): string[] => readdirSync('/dev/shm').filter((name) => name.startsWith(`matte_${pid}_`))

let stubs: readonly number[] = []
afterEach(() => {
  for (const stub of stubs) if (identify(stub)) process.kill(stub, 'SIGKILL')
})

it('a killed Triton leaves no stub and no shared memory', async () => {
  const dir = join(inject('runDir'), 'killed-triton')
  const repository = join(dir, 'models')
  await prepareModelRepository({ source: join(rootDir, 'models'), target: repository, cores: 2 })
  const [http = 0, grpc = 0, metrics = 0] = await freePorts(3)
  const server = await startTriton({
    installation: await installTriton(() => undefined),
    repository,
    ports: { http, grpc, metrics },
    logFile: join(dir, 'triton.log'),
    lifetime: 'attached',
  })
  stubs = listHelpers(server.pid)
  expect(stubs).toHaveLength(2)
  expect(regionsOf(server.pid)).toHaveLength(2)

  // A suspended stub always survives its server.
  for (const stub of stubs) process.kill(stub, 'SIGSTOP')
  process.kill(server.pid, 'SIGKILL')
  await until('the server has ended', () => identify(server.pid) === undefined)
  await until('the stubs have ended', () => listHelpers(server.pid).length === 0)
  await until('the shared memory is removed', () => regionsOf(server.pid).length === 0)
})
