import { Type } from 'typebox'

/** A number of pods, or a share of the desired ones such as `25%`, as a Deployment has it. */
export const podsOrPercent = (description: string, defaultValue: number) =>
  Type.Unsafe<number | string>({
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    description,
    minimum: 0,
    maximum: 1_000,
    pattern: '^([0-9]|[1-9][0-9]|100)%$',
    maxLength: 4,
    'x-kubernetes-int-or-string': true,
    default: defaultValue,
  })
