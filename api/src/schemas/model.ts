import { Type } from 'typebox'
import { named, nullable } from './schema.ts'

/** A model that tasks may name (A119). */
export const modelSchema = named(
  'Model',
  {
    modelVersion: Type.String({ description: 'What a task names.' }),
    default: Type.Boolean({ description: 'It is what a task without a modelVersion gets.' }),
    inputSize: nullable(
      Type.Integer({
        description: 'Side in pixels of the square that the network sees; the result has the size of the image.',
      }),
    ),
    views: nullable(Type.Integer({ description: 'Masks that a result is made of: 2 with that of the mirror image.' })),
    licence: nullable(Type.String({ description: 'Of its weights, an SPDX expression.' })),
    speed: Type.Unsafe<'fast' | 'medium' | 'slow' | null>({
      type: ['string', 'null'],
      enum: ['fast', 'medium', 'slow', null],
      description: 'By the multiply-adds of one image: up to 20 billion, up to 100 billion, more.',
    }),
  },
  {
    description: 'What is null is not known, as before a model has run for the first time.',
    examples: [
      {
        modelVersion: 'service-v2',
        default: true,
        inputSize: 320,
        views: 1,
        licence: 'Apache-2.0',
        speed: 'fast',
      },
    ],
  },
)
