// Metrics that scale the API and the worker: the queries of charts/matte/examples/autoscaling, evaluated by promtool.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { findMissingPromtool } from './alerts/promtool.ts'
import { findUnknown } from './alerts/queries.ts'
import { chartDir, findMissing, render, run } from './helm.ts'

const folder = join(chartDir, 'examples/autoscaling')
const adapter = parse(readFileSync(join(folder, 'prometheus-adapter.yaml'), 'utf8')) as {
  readonly rules: readonly {
    readonly seriesQuery: string
    readonly name: { as: string }
    readonly metricsQuery: string
  }[]
}
type Scaled = {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly scaleTargetRef: { readonly name: string }
    readonly triggers: readonly { readonly metadata: { readonly query: string; readonly threshold: string } }[]
  }
}
const scaled = parseAllDocuments(readFileSync(join(folder, 'keda.yaml'), 'utf8')).map((each) => each.toJS() as Scaled)

/** The query as prometheus-adapter sends it for a namespace's pods. */
const queryOf = (name: string): string =>
  (adapter.rules.find((rule) => rule.name.as === name)?.metricsQuery ?? '')
    .replaceAll('<<.LabelMatchers>>', 'namespace="matte"')
    .replaceAll('<<.GroupBy>>', 'pod')

const kedaQueryOf = (deployment: string): string =>
  scaled.find(({ spec }) => spec.scaleTargetRef.name === deployment)?.spec.triggers[0]?.metadata.query ?? ''

type Sample = Readonly<Record<string, number>>

/** Differences that promtool reports; empty if there are none. */
async function evaluate(expr: string, series: Sample, expected: Sample): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'matte-scaling-'))
  const test = {
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: Object.entries(series).map(([name, value]) => ({ series: name, values: `${value}` })),
        promql_expr_test: [
          {
            expr,
            eval_time: '0m',
            exp_samples: Object.entries(expected).map(([labels, value]) => ({ labels, value })),
          },
        ],
      },
    ],
  }
  writeFileSync(join(dir, 'test.yaml'), stringify(test))
  const { stdout, stderr, failed } = await run('promtool', ['test', 'rules', join(dir, 'test.yaml')])
  rmSync(dir, { recursive: true })
  return failed ? stdout + stderr : ''
}

const pod = (name: string, more = '') => `{namespace="matte",pod="${name}"${more}}`
const workers = {
  // Half of its pixel memory is used, and a quarter is waited for.
  [`matte_image_memory_used_bytes${pod('a', ',for="pixels"')}`]: 1_000,
  [`matte_image_memory_waiting_bytes${pod('a', ',for="pixels"')}`]: 500,
  [`matte_image_memory_max_bytes${pod('a', ',for="pixels"')}`]: 2_000,
  [`matte_image_memory_used_bytes${pod('a', ',for="files"')}`]: 10,
  [`matte_image_memory_waiting_bytes${pod('a', ',for="files"')}`]: 0,
  [`matte_image_memory_max_bytes${pod('a', ',for="files"')}`]: 100,
  [`matte_tasks_in_flight${pod('a')}`]: 4,
  [`matte_tasks_in_flight_max${pod('a')}`]: 128,
  // Small images: concurrency slots are the bottleneck.
  [`matte_image_memory_used_bytes${pod('b', ',for="pixels"')}`]: 200,
  [`matte_image_memory_waiting_bytes${pod('b', ',for="pixels"')}`]: 0,
  [`matte_image_memory_max_bytes${pod('b', ',for="pixels"')}`]: 2_000,
  [`matte_tasks_in_flight${pod('b')}`]: 64,
  [`matte_tasks_in_flight_max${pod('b')}`]: 128,
}
const apis = {
  [`matte_http_requests_in_flight${pod('a')}`]: 64,
  [`matte_http_requests_in_flight_max${pod('a')}`]: 256,
  [`matte_http_requests_in_flight${pod('b')}`]: 0,
  [`matte_http_requests_in_flight_max${pod('b')}`]: 256,
}

describe('metrics that scale the API and the worker', () => {
  it('use metrics that the processes export', () => {
    const queries = adapter.rules.flatMap(({ seriesQuery, name }) => [seriesQuery, queryOf(name.as)])
    for (const query of [...queries, kedaQueryOf('matte-api'), kedaQueryOf('matte-worker')]) {
      expect(query).not.toBe('')
      expect(findUnknown(query), query).toEqual([])
    }
  })

  it.skipIf(findMissing('helm'))("match the example's values", async () => {
    const { manifests, refusal } = await render({}, ['-f', join(chartDir, 'examples/autoscaling.yaml')])
    expect(refusal).toBe('')
    type Autoscaler = { metrics: { pods: { metric: { name: string }; target: { averageValue: string } } }[] }
    const found = manifests
      .filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
      .map(({ metadata, spec }) => [metadata.name, (spec as unknown as Autoscaler).metrics[0]?.pods] as const)
    expect(found.map(([name, pods]) => [name, pods?.metric.name, pods?.target.averageValue])).toEqual([
      ['matte-api', 'matte_api_load', '250m'],
      ['matte-worker', 'matte_worker_load', '700m'],
    ])
    expect(found.map(([, pods]) => pods?.metric.name)).toEqual(adapter.rules.map(({ name }) => name.as))
    const thresholds = scaled.map(({ spec }) => Number(spec.triggers[0]?.metadata.threshold) * 1_000)
    expect(thresholds.map((each) => `${each}m`)).toEqual(found.map(([, pods]) => pods?.target.averageValue))
  })

  it.skipIf(findMissingPromtool())("return each pod's use of its scarcest resource", async () => {
    expect(await evaluate(queryOf('matte_worker_load'), workers, { '{pod="a"}': 0.75, '{pod="b"}': 0.5 })).toBe('')
    expect(await evaluate(queryOf('matte_api_load'), apis, { '{pod="a"}': 0.25, '{pod="b"}': 0 })).toBe('')
  })

  it.skipIf(findMissingPromtool())('return the sum over all pods for KEDA', async () => {
    expect(await evaluate(kedaQueryOf('matte-worker'), workers, { '{}': 1.25 })).toBe('')
    expect(await evaluate(kedaQueryOf('matte-api'), apis, { '{}': 0.25 })).toBe('')
  })
})
