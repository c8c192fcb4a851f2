# SPDX-License-Identifier: GPL-2.0-only
"""A headless browser that opens reports: Debian's chromium and its driver."""
import json

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--no-first-run", "--hide-scrollbars"]
SIZE = 1280, 900


class Browser:
    def __init__(self):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for argument in ARGUMENTS:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)

    def close(self):
        self.driver.quit()

    def resize(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def dark(self, is_dark):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]})

    def open(self, path, size=SIZE):
        """Opens a page, and discards what the browser logged about earlier ones."""
        self.resize(*size)
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.resolve().as_uri())

    def run(self, script, *args):
        return self.driver.execute_script(script, *args)

    def text(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def texts(self, selector):
        return [found.text for found in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def click(self, selector):
        found = self.driver.find_element(By.CSS_SELECTOR, selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()

    def element(self, selector):
        found = self.driver.find_element(By.CSS_SELECTOR, selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", found)
        return found

    def mouse(self):
        return ActionChains(self.driver, duration=20)

    def complaints(self):
        """Errors that the page's script, its policy or the browser reported."""
        return self.driver.get_log("browser")

    def requests(self):
        """The URLs that the page requested."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
