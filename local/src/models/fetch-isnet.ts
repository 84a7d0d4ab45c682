// `make model-fetch-isnet`: fetches the file for `make model-add` and prints its licences.

import { sayToTerminal } from '../say.ts'
import { fetchIsnet } from './isnet.ts'

const { file, licences } = await fetchIsnet(sayToTerminal)
process.stdout.write(`
${licences}
The file: ${file}

If these licences suit you:
  make model-add ARGS="${file} \\
    --name isnet-general --licence Apache-2.0 --mean .5 --std 1 --scale 256 --output output --bf16 --target FOLDER"
`)
