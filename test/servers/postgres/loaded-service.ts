// A whole service under load: API, worker with a fake Triton, dispatcher and a webhook receiver.
import { startFake } from '../../support/fake-triton.ts'
import type { Env, ProcessName } from '../../support/processes.ts'
import { startReceiver } from '../../support/receiver.ts'
import type { Stack } from '../../support/stack.ts'
import { type Load, plans, startLoad } from './load.ts'

export type LoadedService = Load & {
  /** Starts another process; `env` overrides its usual settings. */
  start(name: ProcessName, env?: Env): Promise<void>
  /** Ends everything that the stack does not end. */
  close(): Promise<void>
}

/** `origin`: of the API that gets the next call; by default the latest process. */
type Options = {
  readonly env?: Env
  readonly names?: readonly ProcessName[]
  readonly lanes?: number
  readonly origin?: () => string
}

export async function loadService(stack: Stack, options: Options = {}): Promise<LoadedService> {
  const { env = {}, names = ['api', 'worker', 'dispatcher'], lanes } = options
  const { origin = () => stack.process('api').url } = options
  const fake = await startFake({ models: [{ name: 'u2netp', instances: 8 }], behaviour: { serviceMs: 5 } })
  const receiver = await startReceiver()
  const models = [{ name: 'service-v2', tritonModel: 'u2netp', addresses: [fake.address], default: true }]
  const usual = { PLANS: plans, MODELS_STATIC: JSON.stringify(models), ...env }
  const start = async (name: ProcessName, more: Env = {}): Promise<void> => {
    await stack.start(name, { ...usual, ...more })
  }
  // A few at a time: a start takes a core.
  for (let begun = 0; begun < names.length; begun += 4) {
    await Promise.all(names.slice(begun, begun + 4).map((name) => start(name)))
  }
  const load = await startLoad({ db: stack.db, origin, receiver, ...(lanes !== undefined && { lanes }) })
  const close = async (): Promise<void> => {
    await load.abandon()
    await receiver.close()
    await fake.kill()
  }
  return { ...load, start, close }
}
