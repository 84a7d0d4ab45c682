// Folders of production code import each other in one direction, directly and through others. A folder stands for itself
// and its subfolders, so parent and child may import each other. Tests are left out: they import from everywhere.
import config, { testCode } from './.dependency-cruiser.mjs'

export default {
  forbidden: [
    {
      name: 'no cycles of folders',
      comment: 'Move what both folders need into a lower one, or join them.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
  ],
  options: { ...config.options, exclude: { path: `${config.options.exclude.path}|${testCode}` } },
}
