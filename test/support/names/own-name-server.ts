// Loaded into a process before its own code (`--import`): all its resolvers ask the name server of the test.
import { promises } from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'

const { TEST_NAME_SERVER: server = 'none is named' } = process.env

const { Resolver } = promises
Object.assign(promises, {
  Resolver: class extends Resolver {
    constructor(options?: ConstructorParameters<typeof Resolver>[0]) {
      super(options)
      this.setServers([server])
    }
  },
})
syncBuiltinESMExports()
