import { Type } from 'typebox'
import { choice, integer, list, number, object, text } from '../field.ts'

/** Checks the form only; the time is checked when the pattern is parsed (`ScheduleInvalid`). */
const cron = (description: string) =>
  text(description, {
    minLength: 9,
    maxLength: 120,
    rules: [
      {
        rule: "self.matches('^[0-9A-Z*,/-]+( [0-9A-Z*,/-]+){4}$')",
        message: 'write five cron fields, minute hour day month weekday, such as "0 8 * * MON-FRI"',
      },
    ],
  })

export const replicas = (description: string, options: { minimum?: number; default?: number } = {}) =>
  // The controller is measured with 1,000 pods.
  integer(description, { minimum: 0, maximum: 1000, ...options })

const schedule = object(
  'Other bounds at certain times. Among several in force the highest minReplicas and the lowest maxReplicas ' +
    'apply; if they conflict, minReplicas wins.',
  {
    name: text('Shown in status while it is in force.', {
      minLength: 1,
      maxLength: 63,
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    }),
    timeZone: text('IANA name of the time zone of `start` and `end`, such as `Europe/Berlin` or `UTC`.', {
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$',
    }),
    start: cron(
      'When it begins: five cron fields (minute, hour, day, month, weekday), such as `0 8 * * MON-FRI`. Numbers, ' +
        '`*`, lists, ranges and steps; when both day and weekday are set, either may match.',
    ),
    end: cron('When it ends, in the same form, such as `0 20 * * MON-FRI`. In force from each start to the next end.'),
    minReplicas: Type.Optional(replicas('Replaces scaling.minReplicas while in force; pods, 0 to 1000.')),
    maxReplicas: Type.Optional(
      replicas('Replaces scaling.maxReplicas while in force; pods, 1 to 1000.', { minimum: 1 }),
    ),
  },
  {
    rules: [
      {
        rule: 'has(self.minReplicas) || has(self.maxReplicas)',
        message: 'a schedule without minReplicas and maxReplicas changes nothing: set one of them or remove it',
      },
    ],
  },
)

/** Named for the rule below: an external owner must leave them unchanged. */
export const scalingDefaults = {
  minReplicas: 1,
  maxReplicas: 10,
  utilization: 0.75,
  panicWindowSeconds: 6,
  fallbackAfterSeconds: 30,
  fallbackReplicas: 0,
} as const

const only = ' Only with owner matte.'

export const scaling = object(
  'Number of pods.',
  {
    owner: choice(
      'The owner of the number of pods: `matte` scales by demand; with `external` the writer of the scale subresource ' +
        'decides, such as a HorizontalPodAutoscaler, KEDA or `kubectl scale`.',
      ['matte', 'external'],
      'matte',
    ),
    minReplicas: replicas(
      'Minimum pods, 0 to 1000. At 0 an idle pool has none, and the first request waits for a start. ' +
        `Default 1: no request waits for a start.${only}`,
      { default: scalingDefaults.minReplicas },
    ),
    maxReplicas: replicas(
      'Maximum pods, 1 to 1000, without draining ones. Default 10: enough for 15 requests of 0.5 s a second at the ' +
        `default utilization.${only}`,
      { minimum: 1, default: scalingDefaults.maxReplicas },
    ),
    target: object(
      'Scaling targets.',
      {
        p95Seconds: number(
          'Latency target from creation to result, in seconds, 0.5 to 600: slower requests count as missed, and a ' +
            'backlog should drain within 2.5 times this. Default 2: people wait for the result.',
          { minimum: 0.5, maximum: 600, default: 2 },
        ),
        utilization: number(
          'Share of the slots that steady demand may fill, 0.1 to 1; the rest is for random peaks. ' +
            `Default 0.75, from the simulator (\`make sim\`).${only}`,
          { minimum: 0.1, maximum: 1, default: scalingDefaults.utilization },
        ),
      },
      { default: {} },
    ),
    panicWindowSeconds: integer(
      'How long the pool does not scale down after a burst, in seconds, 0 to 600. A burst is an arrival rate over 3 s ' +
        `far above that over 30 s. Default 6, like Knative's panic window.${only}`,
      { minimum: 0, maximum: 600, default: scalingDefaults.panicWindowSeconds },
    ),
    stabilizationWindowSeconds: Type.Optional(
      integer(
        'How long a pod is kept after it was last needed, in seconds, 0 to 86400. A longer window costs ' +
          'pod-seconds and avoids misses when demand returns. Default 60 s + 1.5 × the measured start-up time, from ' +
          `the simulator; status.stabilizationWindowSeconds shows it.${only}`,
        { minimum: 0, maximum: 86_400 },
      ),
    ),
    schedules: Type.Optional(
      list(`Other bounds at certain times, at most 16.${only}`, schedule, {
        // One per hour of a working day. It also limits the cost of the CEL rules.
        maxItems: 16,
        keys: ['name'],
      }),
    ),
    fallback: object(
      'Scaling while the demand is unknown.',
      {
        afterSeconds: integer(
          'Age from which the demand counts as unknown, in seconds, 5 to 3600. Default 30: it is read each second, ' +
            `so thirty reads in a row have failed.${only}`,
          { minimum: 5, maximum: 3600, default: scalingDefaults.fallbackAfterSeconds },
        ),
        replicas: replicas(
          'Minimum pods while the demand is unknown, 0 to 1000; running pods are kept. Default 0: an outage of the ' +
            'database starts no pods in a pool at zero, because workers cannot claim tasks for them. Pools stored by ' +
            `version 0.2 or older have 1, its default.${only}`,
          { default: scalingDefaults.fallbackReplicas },
        ),
      },
      { default: {} },
    ),
  },
  {
    default: {},
    rules: [
      {
        rule: 'self.minReplicas <= self.maxReplicas',
        message: 'minReplicas must not be above maxReplicas: lower minReplicas or raise maxReplicas',
        fieldPath: '.minReplicas',
      },
      {
        rule: 'self.fallback.replicas <= self.maxReplicas',
        message: 'fallback.replicas must not be above maxReplicas: lower it or raise maxReplicas',
        fieldPath: '.fallback.replicas',
      },
      {
        rule:
          '!has(self.schedules) || self.schedules.all(s, ' +
          '(has(s.minReplicas) ? s.minReplicas : self.minReplicas) <= ' +
          '(has(s.maxReplicas) ? s.maxReplicas : self.maxReplicas))',
        message:
          "a schedule's minReplicas must not be above its maxReplicas; unset ones are the pool's: " +
          'set both in the schedule',
        fieldPath: '.schedules',
      },
      {
        rule: `self.owner != 'external' || (${[
          `self.minReplicas == ${scalingDefaults.minReplicas}`,
          `self.maxReplicas == ${scalingDefaults.maxReplicas}`,
          `self.target.utilization == ${scalingDefaults.utilization}`,
          `self.panicWindowSeconds == ${scalingDefaults.panicWindowSeconds}`,
          '!has(self.stabilizationWindowSeconds)',
          '!has(self.schedules)',
          `self.fallback.afterSeconds == ${scalingDefaults.fallbackAfterSeconds}`,
          // 1 was the default up to version 0.2 and is stored in its pools.
          'self.fallback.replicas <= 1',
        ].join(' && ')})`,
        message:
          'an external owner decides alone: remove minReplicas, maxReplicas, target.utilization, panicWindowSeconds, ' +
          'stabilizationWindowSeconds, schedules and fallback, or set owner to matte',
        fieldPath: '.owner',
      },
    ],
  },
)
