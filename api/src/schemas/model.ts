import { defaultModelVersion, type ListedModel } from '@matte/core/model/model-queries'
import { Type } from 'typebox'
import { named, nullable, nullableOneOf } from './schema.ts'

export const modelSchema = named(
  'Model',
  {
    modelVersion: Type.String({ description: 'Name to use in a task.' }),
    default: Type.Boolean({ description: 'The default for tasks without a modelVersion.' }),
    inputSize: nullable(
      Type.Integer({
        description: 'Side in pixels of the square that the network sees; the result has the size of the image.',
      }),
    ),
    views: nullable(Type.Integer({ description: 'Masks combined per result; 2 includes the mirror image.' })),
    licence: nullable(Type.String({ description: 'Licence of the weights, an SPDX expression.' })),
    speed: nullableOneOf(['fast', 'medium', 'slow'], {
      description: 'By the multiply-adds of one image: up to 20 billion, up to 100 billion, more.',
    }),
  },
  {
    modelVersion: 'service-v2',
    default: true,
    inputSize: 320,
    views: 1,
    licence: 'Apache-2.0',
    speed: 'fast',
  },
  { description: 'Null fields are unknown, for example before the first run of a model.' },
)

export const toModelView = ({ name, properties }: ListedModel) => ({
  modelVersion: name,
  default: name === defaultModelVersion,
  inputSize: properties?.inputSize ?? null,
  views: properties?.views ?? null,
  licence: properties?.licence ?? null,
  speed: properties?.speed ?? null,
})
