import { defaultOutput } from '@matte/core/task/output'
import { Type } from 'typebox'
import { patterns } from './patterns.ts'
import { nullable, withDefault } from './schema.ts'

/** Longest side that can be asked for: what the widest of the formats can hold. */
const maxSideMax = 65_535

/**
 * The member `output` of a creation (D41), for tasks and batches alike. Unknown members are refused: a misspelled one
 * would be charged for an image that nobody wanted. `api/core/src/task/output.ts` says what each does.
 */
export const outputSchema = nullable(
  Type.Object(
    {
      format: withDefault(
        nullable(
          Type.String({
            description:
              'png, webp or jpeg, as far as your plan has it. A WebP has at most 16,383 pixels a ' +
              'side, a JPEG 65,500; if the result has more, the task fails with INPUT_TOO_LARGE.',
          }),
        ),
        defaultOutput.format,
      ),
      background: withDefault(
        nullable(
          Type.String({
            pattern: patterns.colour,
            description: '`transparent`, `#rrggbb` or `#rrggbbaa`. JPEG gets white under what is not opaque.',
          }),
        ),
        defaultOutput.background,
      ),
      crop: withDefault(
        nullable(Type.Boolean({ description: 'Cut to the box of the foreground; without one the image stays whole.' })),
        defaultOutput.crop,
      ),
      cropMargin: withDefault(
        nullable(
          Type.String({
            pattern: patterns.margin,
            description:
              'Room left on all four sides of a crop: pixels of the photo, or a percentage of the longer side of the ' +
              "foreground's box. It ends at the image's edge.",
          }),
        ),
        defaultOutput.cropMargin,
      ),
      maxSide: Type.Optional(
        nullable(
          Type.Integer({
            minimum: 1,
            maximum: maxSideMax,
            description: 'Scales the longer side down to it, never up.',
          }),
        ),
      ),
      channels: withDefault(
        Type.Unsafe<'rgba' | 'alpha' | null>({
          type: ['string', 'null'],
          enum: ['rgba', 'alpha', null],
          description: '`alpha`: the matte alone, as one grey channel.',
        }),
        defaultOutput.channels,
      ),
    },
    {
      additionalProperties: false,
      description: 'The form of the result. Unknown members are refused.',
      examples: [{ format: 'webp', crop: true, cropMargin: '5%', maxSide: 1_024 }],
    },
  ),
)
