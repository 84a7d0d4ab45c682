// Entry point of the worker and the operator. Neither loads the code of the other: the worker changes nothing in the
// cluster, and the operator decodes no image.
import { trustAuthorities } from '@matte/core/runtime/authorities'
import { ConfigError } from '@matte/core/runtime/env'
import { runMain, runServices } from '@matte/core/runtime/main'
import { readConfig } from './config.ts'
import { readOperatorConfig } from './operator-config.ts'

type Process = Parameters<typeof runServices>[0]

async function worker(): Promise<Process> {
  const config = readConfig(process.env)
  trustAuthorities(config.trustedCaFile)
  const { buildServices } = await import('./worker-services.ts')
  return { ...(await buildServices(config)), stopWithinMs: config.stopWithinMs }
}

async function operator(): Promise<Process> {
  const config = readOperatorConfig(process.env)
  trustAuthorities(config.trustedCaFile)
  const { buildServices } = await import('./operator-services.ts')
  return { ...(await buildServices(config)), stopWithinMs: config.stopWithinMs }
}

/** Both in one process, for charts up to 0.2. */
async function controller(): Promise<Process> {
  const first = await worker()
  if (!readConfig(process.env).tritonPools) return first
  const second = await operator()
  first.logger.warn('worker and operator share a process: upgrade the chart to run them separately')
  return { ...first, services: [...first.services, ...second.services] }
}

const commands: Readonly<Record<string, () => Promise<Process>>> = { worker, operator, controller }

await runMain(async () => {
  const [, , name = ''] = process.argv
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) throw new ConfigError('No process named. Start it with worker or operator.')
  await runServices(await command())
})
