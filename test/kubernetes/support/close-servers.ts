// Closes the API servers that a test file leaves behind: a beforeAll that fails later than at its server leaves nothing that the
// file's own hooks could close.

import { afterAll } from 'vitest'
import { closeApiServers } from './api-server.js'

afterAll(closeApiServers)
