import { defaultOutput, shadowDefaults, shadowKinds } from '@matte/core/task/output'
import { Type } from 'typebox'
import { patterns } from '../patterns.ts'
import { nullable, nullableOneOf, oneOf, withDefault } from './schema.ts'

/** Limit of the widest format. */
const maxSideMax = 65_535

const edge = (side: 'left' | 'top') =>
  Type.String({
    pattern: patterns.edge,
    description: `Distance from the ${side}: pixels such as \`20px\`, or a percentage of the ${side === 'left' ? 'width' : 'height'}.`,
  })

const eachDefault = (name: 'opacity' | 'blur' | 'angle'): string =>
  shadowKinds.map((kind) => `${shadowDefaults[kind][name]} for \`${kind}\``).join(', ')

const shadowSchema = nullable(
  Type.Object(
    {
      kind: oneOf(shadowKinds, {
        description:
          '`drop`: behind a subject that floats in front of the background. `contact`: on the ground under its lowest ' +
          'edge, for products and cars. `cast`: its outline laid on the ground, away from the light.',
      }),
      opacity: Type.Optional(
        nullable(
          Type.Integer({
            minimum: 0,
            maximum: 100,
            description: `Darkest part, in percent. Default: ${eachDefault('opacity')}.`,
          }),
        ),
      ),
      blur: Type.Optional(
        nullable(
          Type.String({
            pattern: patterns.softEdge,
            description:
              "Width of the soft edge: pixels of the photo, or a percentage of the shorter side of the foreground's box. " +
              `More than 25% of that side count as 25%. Default: ${eachDefault('blur')}.`,
          }),
        ),
      ),
      angle: Type.Optional(
        nullable(
          Type.Integer({
            minimum: 0,
            maximum: 359,
            description:
              'Where a drop or cast shadow falls, in degrees clockwise: 0 up (cast: behind the subject), 90 right, 180 ' +
              `down (cast: in front of it), 270 left. A contact shadow ignores it. Default: ${eachDefault('angle')}.`,
          }),
        ),
      ),
      color: withDefault(
        nullable(Type.String({ pattern: patterns.opaqueColour, description: '`#rrggbb`.' })),
        shadowDefaults.drop.color,
      ),
      grow: withDefault(
        nullable(
          Type.Boolean({
            description:
              'The image grows until it holds the whole shadow, beyond the photo, a crop and the canvas of `scale` and ' +
              '`position`. False: the shadow is cut at the edge of the image. A result with more pixels than both the ' +
              'photo and the limit of your plan fails with INPUT_TOO_LARGE.',
          }),
        ),
        shadowDefaults.drop.grow,
      ),
    },
    {
      additionalProperties: false,
      description:
        "A shadow under the subject and over the background. The foreground's box, and with it `crop`, `scale` and " +
        '`position`, is that of the subject alone. With `channels` `alpha`, the matte has no shadow, but grows alike. ' +
        'Without a foreground, changes nothing.',
    },
  ),
)

export const outputFields = {
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
    nullable(Type.Boolean({ description: 'Crops to the box of the foreground; without a foreground, crops nothing.' })),
    defaultOutput.crop,
  ),
  cropMargin: withDefault(
    nullable(
      Type.String({
        pattern: patterns.margin,
        description:
          'Margin of a crop: one for all sides, two for top and bottom and for left and right, or four for top, ' +
          "right, bottom and left. Each is pixels of the photo, or a percentage of the longer side of the foreground's " +
          'box. It ends at the edge of the image.',
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
  maxPixels: Type.Optional(
    nullable(
      Type.Integer({
        minimum: 1,
        maximum: maxSideMax ** 2,
        description: 'Scales width times height down to it, never up. Beside `maxSide`, the stricter one counts.',
      }),
    ),
  ),
  roi: Type.Optional(
    nullable(
      Type.Object(
        { left: edge('left'), top: edge('top'), right: edge('left'), bottom: edge('top') },
        {
          additionalProperties: false,
          description:
            'Region of the photo, as it is displayed, that can hold the foreground; all outside becomes background. ' +
            'It ends at the edge of the photo. A region without foreground gives an image without foreground.',
        },
      ),
    ),
  ),
  scale: withDefault(
    nullable(
      Type.String({
        pattern: patterns.scale,
        description:
          "Size of the foreground's box: `original`, or a percentage of the image's width or height, whichever it " +
          'reaches first. The image keeps its size; with `crop`, it is the cropped image. Without a foreground, ' +
          'changes nothing.',
      }),
    ),
    defaultOutput.scale,
  ),
  position: Type.Optional(
    nullable(
      Type.String({
        pattern: patterns.position,
        description:
          "Place of the foreground's box in the image: `original`, `center`, or two percentages for left to right " +
          'and top to bottom, such as `50% 100%` for the middle of the lower edge. Absent, it is `center` with a ' +
          '`scale`, else `original`. Without a foreground, changes nothing.',
      }),
    ),
  ),
  channels: withDefault(
    nullableOneOf(['rgba', 'alpha'], { description: '`alpha`: only the matte, as one grey channel.' }),
    defaultOutput.channels,
  ),
  shadow: Type.Optional(shadowSchema),
}

/** `output` of a creation (D41). A misspelled member would charge for a wrong image, so unknown ones are refused. */
export const outputSchema = nullable(
  Type.Object(outputFields, {
    additionalProperties: false,
    description: 'The form of the result.',
    examples: [{ format: 'webp', crop: true, cropMargin: '5%', maxSide: 1_024 }],
  }),
)
