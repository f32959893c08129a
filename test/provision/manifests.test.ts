// The objects of the Envoys that Gatehouse creates for a Gateway.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ADMIN_SCRIPT } from '../../src/provision/admin-script.js'

test("the script for Envoy's admin interface is that of the chart", () => {
  const file = resolve(import.meta.dirname, '../../deploy/helm/gatehouse/files/admin.pl')
  expect(ADMIN_SCRIPT).toBe(readFileSync(file, 'utf8'))
})
