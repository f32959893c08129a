// Runs once before these tests: starts the cluster and installs the definitions.

import { installDefinitions } from './definitions.js'
import { startPrograms } from './programs.js'

export async function setup(): Promise<void> {
  await startPrograms()
  await installDefinitions()
}
