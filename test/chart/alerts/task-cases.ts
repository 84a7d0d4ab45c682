import type { Case } from './case.ts'

const age = 'matte_task_queued_age_seconds{model_version="service-v2"}'
const claims = 'matte_task_queue_wait_seconds_count{pod="a"}'
const ended = (status: string) => `matte_task_completion_seconds_count{plan="pro",status="${status}"}`
const failed = (code: string) => `matte_task_failures_total{code="${code}"}`
const unsure = 'matte_task_confidence_ratio_bucket{model_version="service-v2",le="0.49"}'
const measured = 'matte_task_confidence_ratio_count{model_version="service-v2"}'
const requests = 'matte_http_request_duration_seconds_count{method="GET",route="/x",status="200"}'
const refused = 'matte_http_requests_refused_total'

const waiting: readonly Case[] = [
  {
    alert: 'MatteTasksWaiting',
    when: 'a task waits and no task starts',
    series: { [age]: '301x10', [claims]: '7x10' },
    at: '3m',
    fires: [
      {
        severity: 'critical',
        model_version: 'service-v2',
        description:
          'The oldest task of service-v2 has waited for 5m 1s, and no task of any model started in the last 5 ' +
          'minutes. Callers see their tasks stay queued.',
      },
    ],
  },
  {
    alert: 'MatteTasksWaiting',
    when: 'a task waits without a controller',
    series: { [age]: '600x10' },
    at: '2m',
    fires: [
      {
        severity: 'critical',
        model_version: 'service-v2',
        description:
          'The oldest task of service-v2 has waited for 10m 0s, and no task of any model started in the last 5 ' +
          'minutes. Callers see their tasks stay queued.',
      },
    ],
  },
  {
    alert: 'MatteTasksWaiting',
    when: 'tasks are started, and the oldest waits for more than an hour',
    series: { [age]: '3601x20', [claims]: '0+10x20' },
    at: '11m',
    fires: [
      {
        severity: 'warning',
        model_version: 'service-v2',
        description:
          'The oldest task of service-v2 has waited for 1h 0m 1s; the limit is 1h 0m 0s. There are too few pods for ' +
          'the accepted tasks, or none for this model.',
      },
    ],
  },
  {
    alert: 'MatteTasksWaiting',
    when: 'the oldest has waited for exactly the limit',
    series: { [age]: '300x10', [claims]: '7x10' },
    at: '9m',
    fires: [],
  },
  {
    alert: 'MatteTasksWaiting',
    when: 'none starts for a moment only',
    series: { [age]: '0 0 301x10', [claims]: '7x10' },
    at: '3m',
    fires: [],
  },
  {
    alert: 'MatteTasksWaiting',
    when: 'a batch waits for its own tasks, exactly for the limit',
    series: { [age]: '3600x30', [claims]: '0+1x30' },
    at: '25m',
    fires: [],
  },
  {
    alert: 'MatteTasksWaiting',
    when: 'tasks of another installation wait',
    series: { 'matte_task_queued_age_seconds{namespace="elsewhere",model_version="service-v2"}': '9999x30' },
    at: '25m',
    fires: [],
  },
]

export const taskCases: readonly Case[] = [
  ...waiting,
  {
    alert: 'MatteTasksFailing',
    when: 'six of a hundred tasks fail inside the service',
    series: { [failed('INFERENCE_ERROR')]: '0+6x30', [ended('failed')]: '0+6x30', [ended('succeeded')]: '0+94x30' },
    at: '10m',
    fires: [
      {
        severity: 'critical',
        description:
          '6% of the tasks that ended in the last 10 minutes failed because of the service; the limit is 5%. Their ' +
          'credits were released.',
      },
    ],
  },
  {
    alert: 'MatteTasksFailing',
    when: 'just under five of a hundred fail',
    series: { [failed('INTERNAL')]: '0+49x30', [ended('failed')]: '0+49x30', [ended('succeeded')]: '0+951x30' },
    at: '20m',
    fires: [],
  },
  {
    alert: 'MatteTasksFailing',
    when: 'half of the images are invalid',
    series: { [failed('INPUT_UNREADABLE')]: '0+50x30', [ended('failed')]: '0+50x30', [ended('succeeded')]: '0+50x30' },
    at: '20m',
    fires: [],
  },
  {
    alert: 'MatteTasksFailing',
    when: 'all of very few tasks fail',
    series: { [failed('INTERNAL')]: '0x5 4x30', [ended('failed')]: '0x5 4x30' },
    at: '14m',
    fires: [],
  },
  {
    alert: 'MatteTasksFailing',
    when: 'many fail, and then none',
    series: { [failed('INTERNAL')]: '0+9x3 27x30', [ended('failed')]: '0+9x3 27x30', [ended('succeeded')]: '0+1x30' },
    at: '4m',
    fires: [],
  },
  {
    alert: 'MatteResultsUnsure',
    when: 'seven of ten results are unsure',
    series: { [unsure]: '0+7x120', [measured]: '0+10x120' },
    at: '100m',
    fires: [
      {
        severity: 'warning',
        model_version: 'service-v2',
        description:
          '70% of the results of service-v2 in the last hour have a confidence below 0.5; the limit is 60%. Callers may ' +
          'receive wrong cut-outs.',
      },
    ],
  },
  {
    alert: 'MatteResultsUnsure',
    when: 'just under six of ten are unsure',
    series: { [unsure]: '0+59x120', [measured]: '0+100x120' },
    at: '100m',
    fires: [],
  },
  {
    alert: 'MatteResultsUnsure',
    when: 'all of very few are unsure',
    series: { [unsure]: '0x60 20x60', [measured]: '0x60 20x60' },
    at: '110m',
    fires: [],
  },
  {
    alert: 'MatteApiRefusing',
    when: 'six of a hundred requests find no capacity',
    series: { [refused]: '0+6x30', [requests]: '0+100x30' },
    at: '12m',
    fires: [
      {
        severity: 'warning',
        description:
          '6% of all requests get 429 with details.limit "capacity"; the limit is 5%. They do not count against the ' +
          'objectives.',
      },
    ],
  },
  {
    alert: 'MatteApiRefusing',
    when: 'just under five of a hundred find no capacity',
    series: { [refused]: '0+49x30', [requests]: '0+1000x30' },
    at: '20m',
    fires: [],
  },
  {
    alert: 'MatteApiRefusing',
    when: 'half of the requests find no capacity for five minutes',
    series: { [refused]: '0+50x5 250x30', [requests]: '0+100x30' },
    at: '7m',
    fires: [],
  },
]
