// `make bench ARGS=accept`: the API's cost beside that of database and store, and its behaviour under overload. Bare
// loop, bare route and service alternate, so changes of the machine's speed affect all.
import { recordStatements } from './accept/bare.ts'
import { createRows } from './accept/create-rows.ts'
import { isPinned } from './accept/load.ts'
import type { AcceptOptions } from './accept/options.ts'
import { overloadRow } from './accept/overload-row.ts'
import { pageRow } from './accept/page-row.ts'
import { readRows } from './accept/read-rows.ts'
import { createWorld } from './accept/world.ts'
import type { Row } from './row.ts'

export async function measureAccept(options: AcceptOptions): Promise<Row[]> {
  const { say } = options
  if (!isPinned) say('no taskset on this machine: the generator is not pinned to a core')
  const world = await createWorld(options.dir)
  try {
    const recorded = await recordStatements(world, world.callers)
    const reads = await readRows(world, options)
    const [all, hot] = [
      await createRows(world, recorded, { ...options, name: '100 workspaces', callers: world.callers }),
      await createRows(world, recorded.slice(0, 1), {
        ...options,
        name: 'one hot one',
        callers: world.callers.slice(0, 1),
      }),
    ]
    const overload = await overloadRow(world, options, all.perSecond)
    const paging = await pageRow(world)
    return [...all.rows, ...hot.rows, ...reads, paging, overload]
  } finally {
    await world.remove()
  }
}
