import { type Static, Type } from 'typebox'
import { flag, list, object, text } from '../field.ts'

const noParent = {
  rule: "!self.split('/').exists(part, part == '..')",
  message: 'a path must not contain "..": write it from its root',
}

const source = object(
  'Source of the model: exactly one of the three.',
  {
    imagePath: Type.Optional(
      text("A folder in the pool's image, from its root, with one folder for each model, such as `/models`.", {
        minLength: 1,
        maxLength: 255,
        pattern: '^/[^\\s,]*$',
        rules: [noParent],
      }),
    ),
    persistentVolumeClaim: Type.Optional(
      object('A volume with the models.', {
        claimName: text("A PersistentVolumeClaim in the pool's namespace; mounted read-only.", {
          minLength: 1,
          maxLength: 253,
          pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
        }),
        path: text('The folder in the volume with one folder for each model; empty for its root.', {
          maxLength: 255,
          pattern: '^([^/\\s,][^\\s,]*)?$',
          default: '',
          rules: [noParent],
        }),
      }),
    ),
    s3: Type.Optional(
      object('An S3 bucket with the models. Each pod downloads them when it starts.', {
        prefix: text(
          'URL of the folder that contains one folder per model, in the form of Triton: `s3://bucket/folder`, or ' +
            '`s3://https://host:port/bucket/folder` for a store other than AWS.',
          { minLength: 6, maxLength: 512, pattern: '^s3://[^\\s,]+$' },
        ),
        secretName: Type.Optional(
          text(
            "A Secret in the pool's namespace with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if needed, " +
              "AWS_SESSION_TOKEN and AWS_DEFAULT_REGION. Default: the pod's own identity. All models share one Secret, " +
              'because Triton reads it from its environment.',
            { minLength: 1, maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' },
          ),
        ),
      }),
    ),
  },
  {
    rules: [
      {
        rule: '[has(self.imagePath), has(self.persistentVolumeClaim), has(self.s3)].filter(is, is).size() == 1',
        message: 'a model has exactly one source: set one of imagePath, persistentVolumeClaim and s3',
      },
    ],
  },
)

const model = object('One model that every pod of the pool loads.', {
  name: text("The model's folder in its repository and its name in Triton, such as `u2netp`.", {
    minLength: 1,
    maxLength: 63,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
  }),
  modelVersion: text(
    'The `modelVersion` that callers request, unique across all pools: if two pools have the same one, the older ' +
      'serves it and the other is Degraded.',
    { minLength: 1, maxLength: 63, pattern: '^[a-z0-9][a-z0-9_-]*(\\.[a-z0-9_-]+)*$' },
  ),
  default: flag(
    "Makes it the pool's default model, which in the default pool also serves `service-v2` and an omitted " +
      'modelVersion. If no model sets it, the first in the list is the default.',
    false,
  ),
  licence: Type.Optional(
    text(
      'Licence as an SPDX expression, such as `Apache-2.0`. If this install does not allow it, no pod is created ' +
        '(LicenceRefused).',
      { minLength: 1, maxLength: 128 },
    ),
  ),
  checksum: Type.Optional(
    text(
      "SHA-256 of the model's file, as `sha256:` and 64 hex digits. A pod with another file does not start " +
        "(ChecksumMismatch). The file is the one that Triton loads for the model's highest version: " +
        "default_model_filename of its configuration, or its backend's default, such as `model.onnx`. Models in " +
        'S3 are not checked, because Triton downloads them itself. A new checksum is a new revision, even if the ' +
        'file was changed in place. A model with a checksum keeps `configs/cpu.pbtxt`.',
      { maxLength: 71, pattern: '^sha256:[0-9a-f]{64}$' },
    ),
  ),
  source,
})

export const models = list('The models that every pod of the pool loads, 1 to 16.', model, {
  minItems: 1,
  // More than one Triton usually has memory for.
  maxItems: 16,
  keys: ['name'],
  rules: [
    {
      rule: 'self.filter(m, m.default).size() <= 1',
      message: 'a pool has one default model at most: set `default: true` on one model only',
    },
    {
      rule: 'self.all(m, self.exists_one(n, n.modelVersion == m.modelVersion))',
      message: 'two models of the pool have the same modelVersion: give each model its own',
    },
    {
      rule:
        'self.all(m, self.all(n, !has(m.source.s3) || !has(n.source.s3) || ' +
        '(has(m.source.s3.secretName) == has(n.source.s3.secretName) && ' +
        '(!has(m.source.s3.secretName) || m.source.s3.secretName == n.source.s3.secretName))))',
      message:
        'models from S3 share one Secret, because Triton reads it from its environment: set the same secretName in all',
    },
  ],
})

export type PoolModel = Static<typeof models>[number]
export type ModelSource = PoolModel['source']
