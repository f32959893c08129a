// The demo's identity provider for docker-compose. It listens on every interface of its container. Browsers (through
// the published port) and Gatehouse (in the shared network) both reach it at http://127.0.0.1:9000.

import { createServer } from 'node:http'
import { DEMO_IDP } from '../dist/cli/demo/demo-parties.js'
import { identityProviderListener } from '../dist/cli/demo/identity-provider.js'

const port = 9000
const origin = `http://127.0.0.1:${port}`
const server = createServer(await identityProviderListener(DEMO_IDP, origin))
server.listen(port, '0.0.0.0', () => console.log(`identity provider at ${origin}`))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0))
