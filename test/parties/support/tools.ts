// Locates third-party programs: packages of test/parties, and programs that scripts/test-parties.mjs provides.

import { join, resolve } from 'node:path'

const FOLDER = resolve(import.meta.dirname, '..')

/** Returns the entry point of a package of test/parties. */
export const program = (name: string, path: string): string =>
  join(FOLDER, 'node_modules', name, path)

/** An unpacked Keycloak. */
export const keycloakHome = (): string => named('GATEHOUSE_TEST_KEYCLOAK')

/** A Chromium, which playwright-core drives. */
export const chromiumPath = (): string => named('GATEHOUSE_TEST_CHROMIUM')

/** A Python environment with LiteLLM's proxy. */
export const litellmHome = (): string => named('GATEHOUSE_TEST_LITELLM')

/** A Python environment with Presidio and FastAPI. */
export const presidioHome = (): string => named('GATEHOUSE_TEST_PRESIDIO')

/** An OpenTelemetry Collector. */
export const otelCollector = (): string => named('GATEHOUSE_TEST_COLLECTOR')

function named(variable: string): string {
  const value = process.env[variable]
  if (value === undefined)
    throw new Error(`${variable} is not set: start with npm test -- --project parties`)
  return value
}
