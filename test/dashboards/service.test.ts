// Every panel that needs no cluster, against a Prometheus that scrapes the processes under load. Panels of the operator
// are in test/e2e/dashboards.test.ts.
import { join } from 'node:path'
import { dashboards } from '@matte/generate/chart/dashboards/document'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { type Callers, startCallers } from './callers.ts'
import { drawPictures } from './draw.ts'
import { expand, listSilent, namespace, panelQueries } from './panels.ts'
import { findMissingPrometheus, type Prometheus, startPrometheus } from './prometheus.ts'

describe.skipIf(findMissingPrometheus('test/dashboards'))('the dashboards of a service under load', () => {
  const stack = useStack()
  let prometheus: Prometheus
  let callers: Callers
  let begun: number
  beforeAll(async () => {
    prometheus = await startPrometheus(join(inject('runDir'), 'prometheus'), { namespace })
    prometheus.watch((['api', 'worker', 'dispatcher'] as const).map((name) => stack.process(name)))
    begun = Date.now() / 1_000
    callers = await startCallers(stack)
  })
  afterAll(async () => {
    await drawPictures(prometheus, begun)
    await callers?.stop()
    await prometheus?.stop()
  })

  it('show data in every panel', async () => {
    const asked = panelQueries.filter(({ panel }) => panel.needs !== 'pools')
    await until(
      'every panel shows data',
      async () => {
        const silent = await listSilent(prometheus, asked)
        if (silent.length > 0) throw new Error(`nothing to show:\n${silent.join('\n')}`)
        return true
      },
      { everyMs: 2_000 },
    )
  })

  it.each(dashboards)('run every query of $title', async ({ title }) => {
    for (const { query } of panelQueries.filter(({ name }) => name.startsWith(title))) {
      expect(await prometheus.query(expand(query)), query.expr).toBeInstanceOf(Array)
    }
  })
})
