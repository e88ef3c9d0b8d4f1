/** The page of every kind whose sheet is a form. */

import { startForm } from "./fields.js";

startForm();
