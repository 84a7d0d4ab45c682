import type { Case } from './case.ts'

const route = '/api/v1/open/developer/tasks'
const answered = (status: string, path = route, method = 'POST') =>
  `matte_http_request_duration_seconds_count{method="${method}",route="${path}",status="${status}"}`

/** `bad` of `all` requests per minute fail, over ten hours. */
const creations = (bad: number, all: number) => ({
  [answered('500')]: `0+${bad}x600`,
  [answered('201')]: `0+${all - bad}x600`,
})

/** `bad` of `all` tasks per minute exceed the plan's seconds. Prometheus 3 writes the bound as 30.0. */
function endings(bad: number, all: number, { plan = 'pro', le = '30.0' } = {}) {
  const name = (metric: string, bound = '') => `${metric}{plan="${plan}",status="succeeded"${bound}}`
  return {
    [name('matte_task_completion_seconds_bucket', `,le="${le}"`)]: `0+${all - bad}x600`,
    [name('matte_task_completion_seconds_bucket', ',le="+Inf"')]: `0+${all}x600`,
    [name('matte_task_completion_seconds_count')]: `0+${all}x600`,
  }
}

type Window = { readonly window: string; readonly factor: string; readonly severity: 'critical' | 'warning' }
const fast: Window = { window: '1h', factor: '14.4', severity: 'critical' }
const middle: Window = { window: '6h', factor: '6', severity: 'critical' }
const slow: Window = { window: '1d', factor: '3', severity: 'warning' }
const slowest: Window = { window: '3d', factor: '1', severity: 'warning' }

const acceptFiring = (share: string, { window, factor, severity }: Window) => ({
  severity,
  window,
  description:
    `${share} of the create requests (tasks, batches, uploads) failed with a server error in the last ${window}; the ` +
    `objective is 99.9%, and the 30-day error budget is spent ${factor} times too fast.`,
})
const lateFiring = (share: string, { window, factor, severity }: Window, plan = 'pro') => ({
  severity,
  window,
  plan,
  description:
    `${share} of the tasks of plan ${plan} took longer than the objective in the last ${window}; the objective is ` +
    `99%, and the 30-day error budget is spent ${factor} times too fast.`,
})

const accept = (rest: Omit<Case, 'alert'>): Case => ({ alert: 'MatteAcceptFailing', ...rest })
const late = (rest: Omit<Case, 'alert'>): Case => ({ alert: 'MatteCompletionLate', ...rest })

const acceptCases: readonly Case[] = [
  accept({
    when: '1.5 % of the creations fail',
    series: creations(3, 200),
    at: '5m',
    fires: [acceptFiring('1.5%', fast)],
  }),
  accept({ when: '0.7 % of them fail', series: creations(7, 1_000), at: '20m', fires: [acceptFiring('0.7%', middle)] }),
  accept({
    when: '0.4 % of them fail for an hour',
    series: creations(4, 1_000),
    at: '70m',
    fires: [acceptFiring('0.4%', slow)],
  }),
  accept({
    when: '0.11 % of them fail for hours',
    series: creations(11, 10_000),
    at: '4h',
    fires: [acceptFiring('0.11%', slowest)],
  }),
  accept({ when: '0.09 % of them fail for hours', series: creations(9, 10_000), at: '5h', fires: [] }),
  accept({
    when: '2 % of them failed an hour ago, and none fails now',
    series: { [answered('500')]: '0+2x10 20x200', [answered('201')]: '0+98x210' },
    at: '45m',
    fires: [],
  }),
  accept({ when: '2 % of them fail for a minute', series: creations(2, 100), at: '1m', fires: [] }),
  accept({
    when: 'four of four fail, and no more follow',
    series: { [answered('500')]: '0x5 0 4x200', [answered('201')]: '0x200' },
    at: '9m',
    fires: [],
  }),
  accept({
    when: 'reads, and creations of webhook endpoints, fail',
    series: {
      [answered('500', route, 'GET')]: '0+9x99',
      [answered('500', '/api/v1/open/developer/webhooks')]: '0+9x99',
      [answered('201')]: '0+9x99',
    },
    at: '60m',
    fires: [],
  }),
  accept({
    when: 'requests fail with client errors',
    series: { [answered('429')]: '0+9x99', [answered('400')]: '0+9x99', [answered('201')]: '0+1x99' },
    at: '60m',
    fires: [],
  }),
  ...['batch-tasks', 'uploads/presign', 'tasks/:taskId/retry'].map((path) =>
    accept({
      when: `POST ${path} fails`,
      series: { [answered('503', `/api/v1/open/developer/${path}`)]: '0+2x9', [answered('201')]: '0+98x9' },
      at: '5m',
      fires: [acceptFiring('2%', fast)],
    }),
  ),
  accept({
    when: 'the deprecated POST /v1/tasks fails',
    series: { [answered('500', '/v1/tasks')]: '0+2x9', [answered('201')]: '0+98x9' },
    at: '5m',
    fires: [acceptFiring('2%', fast)],
  }),
]

const lateCases: readonly Case[] = [
  late({ when: '15 % of the tasks are late', series: endings(15, 100), at: '5m', fires: [lateFiring('15%', fast)] }),
  late({ when: '7 % of them are late', series: endings(7, 100), at: '20m', fires: [lateFiring('7%', middle)] }),
  late({
    when: '4 % of them are late for an hour',
    series: endings(4, 100),
    at: '70m',
    fires: [lateFiring('4%', slow)],
  }),
  late({
    when: '2 % of them are late for hours',
    series: endings(2, 100),
    at: '4h',
    fires: [lateFiring('2%', slowest)],
  }),
  late({ when: '0.9 % of them are late for hours', series: endings(9, 1_000), at: '5h', fires: [] }),
  late({
    when: 'a plan with the default limit is late, in the notation of Prometheus 2',
    series: endings(15, 100, { plan: 'own', le: '30' }),
    at: '5m',
    fires: [lateFiring('15%', fast, 'own')],
  }),
  late({
    when: 'a plan with batches exceeds its own limit',
    series: endings(15, 100, { plan: 'enterprise', le: '300.0' }),
    at: '5m',
    fires: [lateFiring('15%', fast, 'enterprise')],
  }),
  late({
    when: 'a plan with batches is slow within its own limit',
    series: { ...endings(90, 100, { plan: 'business' }), ...endings(0, 100, { plan: 'business', le: '120.0' }) },
    at: '60m',
    fires: [],
  }),
  late({
    when: 'callers cancel tasks that wait long',
    series: {
      ...endings(0, 100),
      'matte_task_completion_seconds_bucket{plan="pro",status="canceled",le="30.0"}': '0x99',
      'matte_task_completion_seconds_count{plan="pro",status="canceled"}': '0+50x99',
    },
    at: '60m',
    fires: [],
  }),
  late({
    when: 'four of four tasks are late',
    series: {
      'matte_task_completion_seconds_bucket{plan="pro",status="succeeded",le="30.0"}': '0x99',
      'matte_task_completion_seconds_count{plan="pro",status="succeeded"}': '0x5 4x99',
    },
    at: '9m',
    fires: [],
  }),
]

export const objectiveCases: readonly Case[] = [...acceptCases, ...lateCases]
