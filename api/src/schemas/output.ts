import { defaultOutput } from '@matte/core/task/output'
import { Type } from 'typebox'
import { patterns } from './patterns.ts'
import { nullable, nullableOneOf, withDefault } from './schema.ts'

/** Limit of the widest format. */
const maxSideMax = 65_535

/** `output` of a creation (D41). A misspelled member would charge for a wrong image, so unknown ones are refused. */
export const outputSchema = nullable(
  Type.Object(
    {
      format: withDefault(
        nullable(
          Type.String({
            description:
              'png, webp or jpeg, if your plan includes it. A WebP has at most 16,383 pixels per side, a JPEG ' +
              '65,500; a larger result fails with INPUT_TOO_LARGE.',
          }),
        ),
        defaultOutput.format,
      ),
      background: withDefault(
        nullable(
          Type.String({
            pattern: patterns.colour,
            description: '`transparent`, `#rrggbb` or `#rrggbbaa`. JPEG has white under transparency.',
          }),
        ),
        defaultOutput.background,
      ),
      crop: withDefault(
        nullable(
          Type.Boolean({ description: 'Crops to the box of the foreground; without a foreground, crops nothing.' }),
        ),
        defaultOutput.crop,
      ),
      cropMargin: withDefault(
        nullable(
          Type.String({
            pattern: patterns.margin,
            description:
              'Margin on all four sides of a crop: pixels of the photo, or a percentage of the longer side of the ' +
              "foreground's box. It ends at the edge of the image.",
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
        nullableOneOf(['rgba', 'alpha'], { description: '`alpha`: only the matte, as one grey channel.' }),
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
