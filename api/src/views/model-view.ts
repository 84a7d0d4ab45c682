import { defaultModelVersion, type ListedModel } from '@matte/core/model/model-queries'

export const toModelView = ({ name, properties }: ListedModel) => ({
  modelVersion: name,
  default: name === defaultModelVersion,
  inputSize: properties?.inputSize ?? null,
  views: properties?.views ?? null,
  licence: properties?.licence ?? null,
  speed: properties?.speed ?? null,
})
