// TLS connections of tests, by the compiled program of their threads.

import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createTlsLanes, type TlsLanes } from '../../src/kit/http/connect/tls-lanes.js'

const BUILT = resolve(import.meta.dirname, '../../dist/kit/http/connect/tls-main.js')

/** caFile: stands for the system's authorities. */
export const tlsLanes = (caFile = '/nonexistent'): TlsLanes =>
  createTlsLanes({ caFile, program: pathToFileURL(BUILT) })

/** Connections without authorities of a system. */
export const { usual: connectTls } = tlsLanes()
